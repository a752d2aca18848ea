"""The rules as a provider, with the same interface as one from another package."""

from collections.abc import Iterator

from curation.decisions.variant_rows import RULES
from curation.generation.providers.interface import PassedOver, Provider, WritingTask, Written
from curation.generation.providers.rules import RULE_TYPES, write_by_rule
from curation.language.wordnet.files import folder

WORDNET = "with WordNet"
"""Recorded as the model of variants if WordNet is installed, because it adds antonyms."""


class Rules(Provider):
    """Writes variants by rule where that is safe."""

    name = RULES
    label = "Rules, without a model"
    purpose = (
        "Writes variants by rule where that is safe, and skips all other anchors. Use it as a "
        "baseline to compare models with: it costs nothing and needs no API key."
    )
    types = RULE_TYPES
    free = True

    def __init__(self) -> None:
        self.model = WORDNET if folder() else ""

    def write(self, task: WritingTask) -> Iterator[Written | PassedOver]:
        """Return what `write_by_rule` writes for the anchor; the seed makes no difference."""
        made = write_by_rule(task.text, types=task.types, cues=task.cues)
        for type_id, text in made.texts.items():
            yield Written(type_id, text, made.cues.get(type_id, ""))
        for type_id, reason in made.skipped.items():
            yield PassedOver(type_id, str(reason))
