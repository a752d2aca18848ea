"""The state of one window of the Review page: its position in the queue, its card and its keys."""
