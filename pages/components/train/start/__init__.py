"""Starting a training."""
