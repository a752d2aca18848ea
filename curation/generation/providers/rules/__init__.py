"""The baseline without a model: variants written by rule.

The rules skip whatever they are not certain about; a model can still write the missing types. They
are deterministic: the same input gives the same output.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from curation.content_uids import canonical
from curation.decisions.variant_rows import RULES
from curation.generation.providers.interface import PassedOver, Provider, WritingTask, Written
from curation.generation.providers.rules.absolute import negate_absolutely
from curation.generation.providers.rules.antonym_predicates import (
    affixal,
    lexical,
    negated_antonym,
)
from curation.generation.providers.rules.clause import Clause, Skipped, SkipReason
from curation.generation.providers.rules.hedges import FRAMED, hedge, put_in_frame
from curation.generation.providers.rules.main_clause import check_one_claim, read_statement
from curation.generation.providers.rules.verbal import negate_verb
from curation.language.wordnet import folder
from curation.taxonomy.built_in import VariantType

RULES_VERSION = 4
"""Increased with every change to the rules or their word lists; stored with each variant."""

_NEGATIONS: dict[str, Callable[[Clause], str]] = {
    "verbal": negate_verb,
    "absolute": negate_absolutely,
    "affixal": affixal,
    "lexical": lexical,
    "negated_antonym": negated_antonym,
}
_HEDGES = ("word", "phrase")
RULE_TYPES: tuple[str, ...] = tuple(dict.fromkeys((*_NEGATIONS, *_HEDGES, *FRAMED)))
"""The types that have rules. User-defined types have none."""


class RuleTexts(NamedTuple):
    """The rules' output for an anchor, by type id.

    Attributes:
        texts: canonical texts; types that can't be written safely are missing.
        cues: the cue that each hedge uses (the requested one if it can be placed, else another from
            the paper), and the frame's words for each text in a frame.
        skipped: for each missing type, the reason.
    """

    texts: dict[str, str]
    cues: dict[str, str]
    skipped: dict[str, SkipReason]


def write_by_rule(text: str, *, types: Sequence[VariantType], cues: Mapping[str, str]) -> RuleTexts:
    """Write those variants of an anchor that the rules can write safely.

    Args:
        text: the anchor.
        types: the requested types.
        cues: the cue to use for each type id, if it can be placed.
    """
    written = RuleTexts({}, {}, {})
    try:
        statement = read_statement(text)
    except Skipped as skipped:
        written.skipped.update(dict.fromkeys((entry.id for entry in types), skipped.reason))
        return written
    for entry in types:
        try:
            _write(written, statement, entry.id, cues.get(entry.id, ""))
        except Skipped as skipped:
            written.skipped[entry.id] = skipped.reason
    return written


def _write(written: RuleTexts, statement: Clause, type_id: str, cue: str) -> None:
    if type_id in _NEGATIONS:
        try:
            check_one_claim(statement)
            written.texts[type_id] = canonical(_NEGATIONS[type_id](statement))
            return
        except Skipped:
            if type_id not in FRAMED:
                raise
    if type_id in FRAMED:
        text, used = put_in_frame(statement, type_id, cue)
    elif type_id in _HEDGES:
        text, used = hedge(statement, type_id, cue)
    else:
        raise Skipped(SkipReason.NO_RULE)
    written.texts[type_id], written.cues[type_id] = canonical(text), used


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
