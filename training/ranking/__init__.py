"""Finetuning on NevIR's pairs of passages (§6 of its paper), followed epoch by epoch.

Bi-encoders, cross-encoders and late-interaction models learn which of two passages answers a query.
The training data is a file of pairs, not a release.
"""
