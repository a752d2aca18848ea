"""Commands for generation: variants, types, prompts and prices."""
