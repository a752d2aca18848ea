"""Starting a training run."""
