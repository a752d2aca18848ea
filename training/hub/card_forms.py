"""The form of a card's model: a whole encoder, or an adapter."""

from typing import NamedTuple

from training.hub.model_card_text import USE, USE_ADAPTER


class Form(NamedTuple):
    """The form of a card's model.

    Attributes:
        title: the words after the base's name.
        library: the Hub's name of the library that loads it.
        relation: the Hub's name of its relation to the base model.
        tags: tags in addition to those of every model.
        use: how to load it; 'BASE' is replaced by the base's name.
        measured: the card's metrics in Markdown; None means those of the training run.
    """

    title: str
    library: str
    relation: str
    tags: tuple[str, ...]
    use: str
    measured: str | None = None


WHOLE = Form(
    "finetuned on negation and hedging",
    library="sentence-transformers",
    relation="finetune",
    tags=(),
    use=USE,
)
ADAPTER = Form(
    "an adapter for negation and hedging",
    library="peft",
    relation="adapter",
    tags=("lora",),
    use=USE_ADAPTER,
)
