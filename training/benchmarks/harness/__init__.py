"""General ability of language models: tasks of lm-evaluation-harness (the package ``lm_eval``)."""
