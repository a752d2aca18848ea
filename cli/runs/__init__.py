"""Commands to carry out, list, show, cancel and delete runs."""
