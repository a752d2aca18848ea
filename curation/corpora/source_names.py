"""The names of the sources that the corpora get, for modules that need no text of theirs."""

STARTER = "Hedgerow starter corpus"
ANTONYMS = "Hedgerow antonym sentences"
CLAIMS = "Hedgerow claims"
PASSAGES = "Hedgerow passages"
EXCLUSIONS = "Hedgerow exclusions"
