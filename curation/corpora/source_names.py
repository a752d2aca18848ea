"""The names of the corpora's sources, for modules that do not need their texts."""

STARTER = "Hedgerow starter corpus"
ANTONYMS = "Hedgerow antonym sentences"
CLAIMS = "Hedgerow claims"
PASSAGES = "Hedgerow passages"
EXCLUSIONS = "Hedgerow exclusions"
