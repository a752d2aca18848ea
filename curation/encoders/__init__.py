"""Text encoders: loading a checkpoint safely, and embedding texts with it."""
