"""What is measured on variants: distances, surface checks, flags, and their distributions."""
