"""A small Llama with random weights and its own tokenizer, saved as a model folder.

It is a real causal language model in the format of the model hub (config, safetensors, fast
tokenizer, chat template), small enough to load and train within seconds on one core. The fixture
``small_llama`` in tests/conftest.py creates the default one once per session.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

PAD, BEGIN, END = "<|pad|>", "<|begin|>", "<|end|>"
ROLES = ("<|system|>", "<|user|>", "<|assistant|>")

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>\n"
    "{{ message['content'] | trim }}{{ eos_token }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
"""As in instruction-tuned models: a turn begins with its role and ends with a token."""

TEXTS = (
    "Sentence 1: A boy is holding his skateboard behind him.",
    "Sentence 2: The boy, it seems, is not holding his skateboard.",
    "Do the two sentences have opposite meaning? Yes or No. Answer: Yes",
    "Do the two sentences have opposite meaning? Yes or No. Answer: No",
    "Document 1: The harbour is open. Document 2: The harbour is closed. Query: closed harbour",
    "Which document is more relevant to the query? Please choose 1 or 2. Answer: 1 2",
    "Determine the similarity between the following two sentences (S1, S2). The score should be "
    "ranging from -1.0 to 1.0, and can be a decimal. S1: The door is shut. S2: The door is open. "
    "Score: 0.5",
    "The museum opens on Monday. The museum never opens on Monday. It may open on Monday.",
    "The museum possibly opens on Monday. It is unclear whether the museum opens on Monday.",
)
"""The texts from which its tokenizer has learned its words. Any other text becomes bytes."""


def save_small_llama(
    folder: Path,
    *,
    chat_template: str | None = CHAT_TEMPLATE,
    texts: Iterable[str] = TEXTS,
    vocabulary: int = 512,
    hidden: int = 32,
    layers: int = 2,
    seed: int = 7,
    **config: Any,
) -> Path:
    """Save such a model in this folder, and return the folder.

    Args:
        chat_template: None for the tokenizer of a base model.
        texts: additional texts for the tokenizer; their longer words become single tokens.
        vocabulary: the maximum number of tokens.
        hidden: the width of the model, a multiple of 4.
        seed: the seed of the weights.
        config: other values of LlamaConfig.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = small_tokenizer(chat_template=chat_template, texts=texts, vocabulary=vocabulary)
    values = {
        "vocab_size": len(tokenizer),
        "hidden_size": hidden,
        "intermediate_size": 2 * hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 2048,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "tie_word_embeddings": False,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(LlamaConfig(**values | config))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def small_tokenizer(
    *,
    chat_template: str | None = CHAT_TEMPLATE,
    texts: Iterable[str] = TEXTS,
    vocabulary: int = 512,
) -> Any:
    """A byte-level BPE tokenizer, as in Llama 3. It begins with the start token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[PAD, BEGIN, END, *ROLES],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    learned = list(dict.fromkeys([*TEXTS, *texts]))
    tokenizer.train_from_iterator([*learned, *(f" {text}" for text in learned)], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A",
        pair=f"{BEGIN} $A {BEGIN} $B",
        special_tokens=[(BEGIN, tokenizer.token_to_id(BEGIN))],
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=PAD, bos_token=BEGIN, eos_token=END
    )
    fast.chat_template = chat_template
    return fast
