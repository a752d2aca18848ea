"""Hedgerow for programs: what the pages and the command line do, as Python."""
