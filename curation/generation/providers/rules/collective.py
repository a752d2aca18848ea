"""Distinguishes what is true of things together from what is true of each one."""

from curation.generation.providers.rules.grammar.clause import Clause
from curation.generation.providers.rules.grammar.forms import base_of
from curation.generation.providers.rules.grammar.word_lists import WORDS
from curation.generation.providers.rules.never import predicate_words

_COLLECTIVE = frozenset(WORDS["collective"])
_TOGETHER = frozenset(WORDS["collective_predicates"])
_MARKS = frozenset("each together one apart between among jointly side pair couple team".split())


def is_collective(clause: Clause) -> bool:
    """Whether the predicate holds for the group as a whole, so that 'none of them' does not fit."""
    if _MARKS & predicate_words(clause):
        return True
    if clause.kind == "F" and base_of(clause.verb.word, clause.verb.tag) in _COLLECTIVE:
        return True
    after = clause.after_adverbs()
    return any(clause.word(i) in _TOGETHER for i in range(clause.finite, after + 2)) or any(
        _participle_base(clause, i) in _COLLECTIVE for i in range(clause.finite, after + 2)
    )


def _participle_base(clause: Clause, position: int) -> str:
    word = clause.word(position)
    if clause.letter(position) == "E":
        return base_of(word, "VVN")
    if clause.letter(position) == "G":
        stem = word.removesuffix("ing")
        return next((base for base in (stem, stem + "e") if base in _COLLECTIVE), "")
    return word if clause.letter(position) == "I" else ""
