"""What gives texts scores: encoders of four architectures, word counts, chance, chat models.

Each is an ``interface.Scorer``. ``architecture.load_scorer`` makes one of a name and an
architecture.
"""
