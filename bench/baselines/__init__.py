"""The baselines of Hedgerow's pages and training runs."""
