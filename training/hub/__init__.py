"""Publishing on the Hugging Face Hub, and small adapters to share."""
