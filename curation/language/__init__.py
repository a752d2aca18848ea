"""English: tokens, tags, negators, affixes, antonyms, and kinds of clauses."""
