"""What gives texts scores: models of six architectures, word counts, chance, chat models, plug-ins.

Each is an ``interface.Scorer``. ``architecture.load_scorer`` makes one of a name and an
architecture.
"""
