"""WordNet: its files where they lie on this machine, and its adjectives' antonyms."""
