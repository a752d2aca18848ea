"""What gives texts scores: encoders of four architectures, word counts, chance, chat models.

All behind ``scorer.Scorer``; ``loading.load_scorer`` makes one of a name and an architecture.
"""
