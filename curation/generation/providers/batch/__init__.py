"""The provider's Batch API: slow, at half the price."""
