"""Publishing on the Hugging Face Hub from a page."""
