"""Publishing on the Hugging Face Hub, and the model card."""
