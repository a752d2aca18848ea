"""The provider's Batch API: slow, but at half the price."""
