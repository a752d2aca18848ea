"""'unable to' instead of 'can', 'managed to' or a verb of achievement."""

from curation.generation.providers.rules.grammar.clause import Clause, edited
from curation.generation.providers.rules.grammar.forms import base_of
from curation.generation.providers.rules.grammar.scope import check_words
from curation.generation.providers.rules.grammar.word_lists import WORDS
from curation.generation.providers.rules.verbal import lexical_base

_ACHIEVED = frozenset(WORDS["achieved"])
_BEFALL = frozenset(
    "lead vary cause result occur happen mean become contain include exist range differ affect"
    " depend take last cost come seem appear trigger produce create make have feel look sound get"
    " represent indicate reduce increase improve harm damage kill spread arise help need be".split()
)
# 'you can trust it' and 'it can rain' do not state an ability.
_NOT_ABLE = frozenset("it you this that these those".split())


def unable(clause: Clause) -> str | None:
    """Return the statement with 'unable to' in its predicate; None if it states no ability."""
    if clause.plural is None or clause.finite != clause.subject_end:
        return None
    if clause.kind == "M":
        return _for_can(clause)
    if clause.kind == "H" and clause.letter(clause.finite + 1) == "E":
        return _for_perfect(clause)
    return _for_past(clause) if clause.verb.tag == "VVD" else None


def _for_can(clause: Clause) -> str | None:
    following = clause.finite + 1
    past = clause.verb.lower == "could"
    if clause.verb.lower not in ("can", "could") or clause.letter(following) != "I":
        return None
    if clause.word(clause.head) in _NOT_ABLE or clause.word(following) in _BEFALL:
        return None
    check_words(clause, following, clause.end)
    return edited(
        clause.text, [(clause.verb.start, clause.verb.end, f"{_be(clause, past)} unable to")]
    )


def _for_past(clause: Clause) -> str | None:
    """'was unable to solve it' for 'solved it' and 'managed to solve it'."""
    verb, following = clause.verb, clause.letter(clause.finite + 1)
    base = lexical_base(clause)
    if base == "manage" and following == "T":
        check_words(clause, clause.finite + 1, clause.end)
        return edited(clause.text, [(verb.start, verb.end, f"{_be(clause, True)} unable")])
    if base not in _ACHIEVED or following not in tuple("DdNARZ") or _says_more(clause):
        return None
    check_words(clause, clause.finite + 1, clause.end)
    return edited(clause.text, [(verb.start, verb.end, f"{_be(clause, True)} unable to {base}")])


def _for_perfect(clause: Clause) -> str | None:
    token = clause.tokens[clause.finite + 1]
    base = base_of(token.word, "VVN") if token.tag != "VBN" else ""
    if base not in _ACHIEVED or clause.letter(clause.finite + 2) not in tuple("DdNRZ"):
        return None
    if _says_more(clause) or clause.verb.word.startswith(("'", "’")):
        return None
    check_words(clause, clause.finite + 1, clause.end)
    return edited(clause.text, [(token.start, token.end, f"been unable to {base}")])


def _says_more(clause: Clause) -> bool:
    """Whether the clause says more than the plain deed, such as how it was done."""
    manner = any(clause.word(i).endswith("ly") for i in range(clause.finite, clause.end))
    return manner or bool({"C", "T"} & set(clause.tail))


def _be(clause: Clause, past: bool) -> str:
    first = clause.word(clause.head) == "i"
    if past:
        return "was" if first or not clause.plural else "were"
    return "am" if first else "are" if clause.plural else "is"
