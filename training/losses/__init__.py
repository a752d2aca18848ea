"""The loss over families with its collator and batch sampler. Nothing else of ours is imported.

`hedgerow.losses` offers them to other people's training scripts.
"""
