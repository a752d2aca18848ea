"""Find similar variants by stored embeddings."""
