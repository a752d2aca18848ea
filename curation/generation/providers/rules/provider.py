"""The rules as a provider, as another package would bring one."""

from collections.abc import Iterator

from curation.generation.providers.interface import PassedOver, Provider, WritingTask, Written
from curation.generation.providers.rules import RULE_TYPES, write_by_rule
from curation.language.wordnet.files import folder
from curation.variants.writers import RULES

WORDNET = "with WordNet"
"""Stands as the model of variants from a machine where WordNet lies: it knows more antonyms."""


class Rules(Provider):
    """Writes by rule where that is sound."""

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
        """What `write_by_rule` makes of the anchor; the same for every seed."""
        made = write_by_rule(task.text, types=task.types, cues=task.cues)
        for type_id, text in made.texts.items():
            yield Written(type_id, text, made.cues.get(type_id, ""))
        for type_id, reason in made.skipped.items():
            yield PassedOver(type_id, str(reason))
