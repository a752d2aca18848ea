"""Scorers of text pairs: models of six architectures, TF-IDF, random, chat models, plug-ins.

Each is an ``interface.Scorer``. ``architecture.load_scorer`` creates one from a name and an
architecture.
"""
