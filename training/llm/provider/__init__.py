"""Finetuning a language model at a provider that speaks OpenAI's protocol."""
