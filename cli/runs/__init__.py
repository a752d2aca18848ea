"""The commands about stored runs: carried out, listed, cancelled, deleted."""
