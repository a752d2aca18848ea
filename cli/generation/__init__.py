"""The commands about generation: variants, types, prompts, prices."""
