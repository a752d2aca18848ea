"""Finetuning on NevIR's pairs of passages (§6 of its paper), followed epoch by epoch.

Bi-encoders, cross-encoders and late-interaction models learn which of two passages answers a query;
what they are taught comes from a file of pairs, not from a release.
"""
