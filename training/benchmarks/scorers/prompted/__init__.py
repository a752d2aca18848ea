"""Language models that are asked in words: prompts, the orders they are asked in, and answers.

A model behind a server (`chat`) writes its answer; of a local one (`causal`) the likelihood of each
answer is computed.
"""
