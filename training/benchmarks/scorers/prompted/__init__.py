"""Language models that get prompts: the prompts, the orders of their texts, and the answers.

A model behind a server (`chat`) writes its answer; of a local one (`causal`) the likelihood of each
answer is computed.
"""
