"""What a training reads: families of a release, bundled texts, and how batches are sampled."""
