"""Language models that get prompts: the prompts, the orders of their texts, and the answers.

A model behind a server (`chat`) writes its answer. For a local model (`causal`), the likelihood of
each answer is computed.
"""
