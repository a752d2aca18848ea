"""Absolute negation: 'no' and its compounds, 'none of', 'never' and 'in no way'."""

import re

from curation.generation.providers.rules.clause import (
    SETS,
    WORDS,
    Clause,
    Skipped,
    SkipReason,
    base_of,
    edited,
    keeps_capital,
    lowered_opening,
    third,
)
from curation.generation.providers.rules.scope import Edits, deny_tail
from curation.generation.providers.rules.verbal import (
    check_quantifiers,
    denied_tail,
    is_main_have,
    never,
    predicate_words,
)
from curation.language.tagging import is_known

_ONES = {
    "someone": "No one",
    "everyone": "No one",
    "somebody": "Nobody",
    "everybody": "Nobody",
    "something": "Nothing",
    "everything": "Nothing",
}


def negate_absolutely(clause: Clause) -> str:
    """Negate the statement with an absolute negator.

    Raises:
        Skipped: no construction is certain to fit.
    """
    if clause.letter(clause.subject_start) == "x":
        return _no_there(clause)
    for attempt in (_no_subject, _no_object, _none_of, none_of_number, neither_nor, never):
        new = attempt(clause)
        if new is not None:
            return new
    raise Skipped(SkipReason.NO_CONSTRUCTION)


def _replaced(clause: Clause, first: int, last: int, new: str, edits: Edits) -> str:
    """Replace the words from first to last; capitalise the result if it begins the sentence."""
    start, end = clause.tokens[first].start, clause.tokens[last].end
    new = new[0].upper() + new[1:] if start == 0 else new[0].lower() + new[1:]
    return edited(clause.text, [*edits, (start, end, new)])


def _no_there(clause: Clause) -> str:
    """'There is no cat', 'There were no dogs'."""
    following = clause.after_adverbs()
    edits = deny_tail(clause)
    if clause.kind != "B" or following != clause.finite + 1:
        raise Skipped(SkipReason.NO_CONSTRUCTION)
    token = clause.tokens[following]
    if clause.word(following) in ("a", "an", "some"):
        if clause.word(following + 1) in SETS["part_of"]:
            raise Skipped(SkipReason.SCOPE)
        edits = [edit for edit in edits if edit[0] != token.start]
        return edited(clause.text, [*edits, (token.start, token.end, "no")])
    if clause.letter(following) in "NA":
        return edited(clause.text, [*edits, (token.start, token.start, "no ")])
    raise Skipped(SkipReason.SCOPE)


def _no_subject(clause: Clause) -> str | None:
    """'No X' for 'A X', 'Some Xs', 'Every X', 'Xs'; 'No one' for 'Someone'."""
    start, word = clause.subject_start, clause.word(clause.subject_start)
    if "C" in clause.letters[start : clause.subject_end] or clause.letter(start) == "Z":
        return None
    following = clause.word(start + 1)
    if word in _ONES and clause.head == start:
        return _replaced(clause, start, start, _ONES[word], denied_tail(clause))
    if following == "of":  # 'None of the Xs' for 'Some of the Xs'
        if word not in ("some", "most", "many", "each", "one"):
            return None
        if clause.word(start + 2) not in SETS["owned"]:
            return None
        return _replaced(clause, start, start, "none", denied_tail(clause))
    if clause.letter(clause.head) != "N" or "K" in clause.letters[start : clause.head]:
        return None
    if word in ("a", "an", "some", "every", "many", "several", "most", "any"):
        unfit = (
            word == "any"
            or following in SETS["part_of"]
            or clause.letter(start + 1) == "Z"
            # 'A typical case was the housewife …' gives an example.
            or (clause.kind == "B" and clause.word(clause.finite + 1) in SETS["owned"])
            # 'No whale is a mammal' is fine for 'A whale is a mammal', but not for 'A third …'.
            or (word in ("a", "an") and clause.word(clause.head) in SETS["part_of"])
        )
        return None if unfit else _replaced(clause, start, start, "no", denied_tail(clause))
    if (
        clause.letter(start) in "NA"
        and "G" not in clause.letters[start : clause.head]
        and clause.tokens[clause.head].tag == "NN2"
    ):
        return _bare_plural(clause)
    return None


def _bare_plural(clause: Clause) -> str | None:
    start = clause.subject_start
    token = clause.tokens[start]
    unfit = (
        # It may be a people, whose name keeps its capital.
        (token.lower.endswith(("ian", "ese", "ean", "ans")) and token.lower not in SETS["common"])
        or any(one.tag in ("NP0", "AJC", "AJS") for one in clause.tokens[start : clause.head + 1])
        or {clause.word(start), clause.word(clause.head)} & SETS["pairs"]
        or is_collective(clause)
    )
    word = token.word
    is_lowered = start == 0 and word[1:].islower() and not keeps_capital(word)
    if unfit or (is_lowered and not is_known(word)):  # 'Lucullus' is not a plural
        return None
    word = word[0].lower() + word[1:] if is_lowered else word
    return _replaced(clause, start, start, f"no {word}", denied_tail(clause))


def _no_object(clause: Clause) -> str | None:
    """Write 'has no X', 'contains no X' for 'has an X', 'contains Xs'."""
    # 'no' on the object negates the verb: 'have', and states like 'contain'.
    takes_no = (
        is_main_have(clause) if clause.kind == "H" else clause.lexical_verb in SETS["no_object"]
    )
    if not takes_no or clause.letter(clause.finite - 1) == "V":
        return None
    check_quantifiers(clause)
    noun = clause.finite + 1
    article = clause.word(noun) in ("a", "an", "some")
    if not article and clause.letter(noun) not in "NA":
        return None
    phrase = _OBJECT.match(clause.letters[noun : clause.end])
    last = noun + len(phrase[0] if phrase else "") - 1
    nouns = {clause.word(i) for i in range(noun, last + 1)}
    if (
        clause.letter(last) != "N"
        or nouns & SETS["no_have"]
        or clause.letter(last + 1) in ("E", "I")
    ):
        return None
    token = clause.tokens[noun]
    if token.tag == "NP0" or clause.is_contracted:
        return None
    edits = [edit for edit in denied_tail(clause) if edit[0] != token.start]
    change = (token.start, token.end, "no") if article else (token.start, token.start, "no ")
    return edited(clause.text, [*edits, change])


_OBJECT = re.compile("N+|.?[AGE]*N*")


def _none_of(clause: Clause) -> str | None:
    """'None of the Xs', 'Neither of the two Xs' for 'The Xs', 'All the Xs'."""
    start, head = clause.subject_start, clause.head
    everyone = clause.word(start) == "all" and start + 1 < head
    owner = start + (1 + (clause.word(start + 1) == "of") if everyone else 0)
    unfit = (
        clause.tokens[head].tag != "NN2"
        or "C" in clause.letters[start : clause.subject_end]
        or clause.tokens[head].word[0].isupper()
        or clause.word(owner) not in SETS["owned"]
        or clause.word(head) in SETS["pairs"]
        or is_collective(clause)
        or (not everyone and {clause.word(i) for i in range(start, head)} & SETS["part_of"])
        or (clause.letter(clause.finite + 1) in ("D", "d") and clause.kind == "B")
    )
    if unfit:
        return None
    edits = denied_tail(clause)
    word = clause.tokens[owner].lower
    if clause.word(owner + 1) == "two":
        edits = [*edits, *singular_verb(clause)]
        return _replaced(clause, start, owner, f"neither of {word}", edits)
    if "Z" in clause.letters[start:head]:
        return None
    return _replaced(clause, start, owner, f"none of {word}", edits)


# -- 'Neither' and 'none' for the group that the claim is about: 'Two men', 'Ann and Ben' ---------


_NOT_COUNTED = frozenset(WORDS["units"]) | frozenset(
    "hundred thousand million billion dozen".split()
)
_SINGULAR = {"are": "is", "were": "was", "have": "has", "do": "does"}
_WHOLE = re.compile(r"(?:[Dd]{1,2}A*N+|R|N)")


def none_of_number(clause: Clause) -> str | None:
    """'Neither of the two men' for 'Two men', 'None of the five boats' for 'Five boats'."""
    start, head = clause.subject_start, clause.head
    number = clause.word(start)
    if clause.letter(start) != "Z" or clause.tokens[head].tag != "NN2":
        return None
    letters = clause.letters[start + 1 : clause.subject_end]
    nouns = {clause.word(i) for i in range(start, head + 1)}
    if letters[0] in "PZ" or "C" in letters or nouns & _NOT_COUNTED or is_collective(clause):
        return None
    if number in ("one", "1") or not (number.isalpha() or (number.isdigit() and len(number) < 4)):
        return None
    token, two = clause.tokens[start], number in ("two", "2")
    edits = denied_tail(clause) + (singular_verb(clause) if two else [])
    new = f"{'neither' if two else 'none'} of the {number}"
    return edited(clause.text, [*edits, (token.start, token.end, _as_first(new, token.start))])


def _as_first(new: str, start: int) -> str:
    return new[0].upper() + new[1:] if start == 0 else new


def singular_verb(clause: Clause) -> Edits:
    """'Neither of them *is*'."""
    verb = clause.verb
    singular = _SINGULAR.get(verb.lower)
    if singular is None and verb.tag in ("VVB", "VVI"):
        singular = third(verb.lower)
    return [(verb.start, verb.end, singular)] if singular else []


def neither_nor(clause: Clause) -> str | None:
    """Write 'Neither Ann nor Ben' for 'Ann and Ben' or 'Both Ann and Ben'."""
    both = clause.word(clause.subject_start) == "both"
    start = clause.subject_start + both
    first, joined, second = clause.letters[start : clause.subject_end].partition("C")
    middle = start + len(first)
    if not joined or clause.word(middle) != "and" or is_collective(clause):
        return None
    if not (_WHOLE.fullmatch(first) and _WHOLE.fullmatch(second)):
        return None
    conjunction = clause.tokens[middle]
    edits = [*denied_tail(clause), (conjunction.start, conjunction.end, "nor")]
    if clause.tokens[clause.subject_end - 1].tag in ("NN1", "NN0", "NP0"):
        edits += singular_verb(clause)
    opening = clause.tokens[clause.subject_start]
    neither = _as_first("neither", opening.start)
    if both:
        return edited(clause.text, [*edits, (opening.start, opening.end, neither)])
    word = opening.word if opening.start else lowered_opening(clause)
    if word is None:
        return None
    return edited(clause.text, [*edits, (opening.start, opening.end, f"{neither} {word}")])


# -- Distinguishes what is true of things together from what is true of each one ------------------


def is_collective(clause: Clause) -> bool:
    """Whether the predicate holds for the group as a whole, so that 'none of them' does not fit."""
    return (
        not SETS["marks"].isdisjoint(predicate_words(clause))
        or clause.lexical_verb in SETS["collective"]
        or any(
            clause.word(i) in SETS["collective_predicates"]
            or _participle_base(clause, i) in SETS["collective"]
            for i in range(clause.finite, clause.after_adverbs() + 2)
        )
    )


def _participle_base(clause: Clause, position: int) -> str:
    word = clause.word(position)
    if clause.letter(position) == "E":
        return base_of(word, "VVN")
    if clause.letter(position) == "G":
        stem = word.removesuffix("ing")
        return next((base for base in (stem, stem + "e") if base in SETS["collective"]), "")
    return word if clause.letter(position) == "I" else ""
