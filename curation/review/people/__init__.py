"""The people and models who review: their names, and merging two people into one reviewer."""
