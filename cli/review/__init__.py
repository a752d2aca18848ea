"""The commands about review: decisions, second opinions, reviewers."""
