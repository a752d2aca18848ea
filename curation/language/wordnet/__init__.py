"""WordNet: reads its files if they are installed; includes its adjectives' antonyms."""
