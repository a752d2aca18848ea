"""The form of a card's model: a whole encoder, or an adapter."""

from typing import NamedTuple

from training.hub.model_card_text import USE, USE_ADAPTER


class Form(NamedTuple):
    """The form of a card's model.

    Attributes:
        title: follows the base's name.
        library: that loads it, as the Hub calls it.
        relation: of the model to its base, as the Hub calls it.
        tags: in addition to those of every model.
        use: how to load it; 'BASE' stands for the base's name.
        measured: the card's figures in Markdown; None: those of the training.
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
