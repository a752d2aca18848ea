"""Runs on a page: starting, following, limiting and restarting them."""
