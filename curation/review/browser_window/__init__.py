"""What one window of the Review page knows: its place in the queue, its card, its keys."""
