"""Replaces the predicate with an antonym: an affixed word, another word, or a negated antonym."""

import re

from curation.generation.providers.rules.clause import (
    SETS,
    WORDS,
    Clause,
    Skipped,
    SkipReason,
    base_of,
    edited,
    past,
    third,
)
from curation.generation.providers.rules.qualities import (
    find_quality,
    negated_quality,
    says_more,
    unable,
    with_antonym,
)
from curation.generation.providers.rules.scope import check_reasons, check_words, deny_tail
from curation.generation.providers.rules.verbal import (
    check_quantifiers,
    helping,
    is_main_have,
    lexical_base,
    with_not,
)
from curation.language.negation import negative_affix
from curation.language.wordnet import Part, first_sense

_OBJECTS: dict[str, frozenset[str]] = {
    base: frozenset(words) for base, words in WORDS["objects"].items()
}
_FAIL_PLAIN = SETS["fail"] | frozenset(WORDS["fail_plain"])
"""Verbs that 'did not fail to' would make clumsy."""


def affixal(clause: Clause) -> str:
    """Return the statement with an affixed antonym in its predicate.

    Raises:
        Skipped: no antonym is certain to fit.
    """
    _check_claim(clause, negated=False)
    if (quality := find_quality(clause)) is not None:
        antonym = affixed_quality(quality.word, participle=quality.participle)
        return with_antonym(clause, quality, antonym)
    for attempt in (unable, _affixed_verb, _affixed_adverb):
        if (new := attempt(clause)) is not None:
            return new
    raise Skipped(SkipReason.NO_ANTONYM)


def lexical(clause: Clause) -> str:
    """Return the statement with an antonym as its predicate, or with 'fail to' before it.

    Raises:
        Skipped: no antonym is certain to fit.
    """
    _check_claim(clause, negated=False)
    if (quality := find_quality(clause)) is not None:
        antonym = other_quality(quality.word, participle=quality.participle)
        return with_antonym(clause, quality, antonym)
    for attempt in (_lack, _antonym_verb, _fail_to):
        if (new := attempt(clause, negated=False)) is not None:
            return new
    raise Skipped(SkipReason.NO_ANTONYM)


def negated_antonym(clause: Clause) -> str:
    """Restate the claim by negating an antonym that leaves no middle ground.

    Raises:
        Skipped: no antonym is certain to fit.
    """
    _check_claim(clause, negated=True)
    if (quality := find_quality(clause)) is not None:
        return negated_quality(clause, quality)
    for attempt in (_lack, _antonym_verb, _fail_to):
        if (new := attempt(clause, negated=True)) is not None:
            return new
    raise Skipped(SkipReason.NO_ANTONYM)


def _check_claim(clause: Clause, *, negated: bool) -> None:
    """Raise ``Skipped`` if an antonym of the first predicate would not contradict the claim."""
    check_quantifiers(clause, universal=not negated)
    check_reasons(clause)
    if clause.second_verb is not None:
        raise Skipped(SkipReason.COORDINATED)
    if negated and SETS["all"] & {clause.word(i) for i in range(clause.finite, clause.end)}:
        raise Skipped(SkipReason.SCOPE)  # 'is not inaccessible to everyone' allows some access


def inflected(base: str, tag: str) -> str:
    """Inflect a verb like another finite verb: third person, past or base."""
    if tag in ("VVD", "VHD"):
        return past(base)
    return third(base) if tag in ("VVZ", "VHZ") else base


def _affixed_verb(clause: Clause) -> str | None:
    base = lexical_base(clause)
    antonym = WORDS["affixed_verbs"].get(base)
    word, letter = clause.word(clause.finite + 1), clause.letter(clause.finite + 1)
    unfit = (
        (base == "behave" and letter not in ("", "P", "S"))
        or letter in ("T", "I")
        or (base == "agree" and word != "with")
        or (base == "approve" and word != "of")
        or (base == "like" and "T" in clause.tail)
    )
    if antonym is None or unfit or clause.finite != clause.subject_end or clause.kind != "F":
        return None
    check_words(clause, clause.finite + 1, clause.end)
    verb = clause.verb
    return edited(clause.text, [(verb.start, verb.end, inflected(antonym, verb.tag))])


def _affixed_adverb(clause: Clause) -> str | None:
    """Write 'translated it incorrectly' for 'correctly', if the adverb of manner ends the claim."""
    for i in range(clause.finite - 1, clause.end):
        antonym = affixed_adverb(clause.word(i))
        if clause.letter(i) in "SW,":
            return None
        if antonym is None or clause.letter(i) != "V" or clause.letter(i + 1) in ("A", "C", "V"):
            continue
        check_words(clause, clause.finite + 1, clause.end)
        token = clause.tokens[i]
        return edited(clause.text, [(token.start, token.end, antonym)])
    return None


def _object_head(clause: Clause) -> str:
    """Return the head noun of the object right after the verb; '' if there is none."""
    position = clause.finite + 1
    while clause.letter(position) in tuple("DdAZGEK") or (
        clause.letter(position) == "N" and clause.letter(position + 1) in tuple("NK")
    ):
        position += 1
    return clause.word(position) if clause.letter(position) in ("N", "R") else ""


def _lack(clause: Clause, *, negated: bool) -> str | None:
    """'lacks a refrigerator' for 'has a refrigerator'."""
    noun, following = _object_head(clause), clause.finite + 1
    fits = (
        clause.kind == "H"
        and is_main_have(clause)
        and not clause.is_contracted
        and clause.finite == clause.subject_end
        and clause.letter(clause.head) != "R"
        and noun
        and noun not in SETS["no_have"]
        and (clause.word(following) in ("a", "an") or clause.letter(following) in ("N", "A"))
        and "E" not in clause.tail[:5]
        and not set("CIT") & set(clause.tail)
    )
    if not fits:
        return None
    check_words(clause, clause.finite + 1, clause.end)
    return _changed_verb(clause, "lack", negated=negated)


def _changed_verb(clause: Clause, base: str, *, negated: bool, suffix: str = "") -> str:
    """Replace the finite verb with a form of another, negated with do-support if requested."""
    verb = clause.verb
    if not negated:
        new = inflected(base, verb.tag)
    else:
        informal = clause.word(clause.head) in ("i", "you", "we")
        new = f"{with_not(helping(verb.tag), informal=informal)} {base}"
    return edited(clause.text, [(verb.start, verb.end, new + suffix)])


def _antonym_verb(clause: Clause, *, negated: bool) -> str | None:
    if clause.kind != "F" or clause.finite != clause.subject_end:
        return None
    base = lexical_base(clause)
    antonym = WORDS["lexical_verbs"].get(base)
    if antonym is None or (negated and base not in SETS["cancelling"]) or not _takes(clause, base):
        return None
    check_words(clause, clause.finite + 1, clause.end)
    if negated:
        deny_tail(clause, lexical="allow")
    if any(clause.word(i).endswith("ly") for i in range(clause.finite, clause.end)):
        return None  # 'rejected it willingly'
    return _changed_verb(clause, antonym, negated=negated)


def _takes(clause: Clause, base: str) -> bool:
    """Whether the words after a verb also fit its antonym in the same sense."""
    following = clause.letter(clause.finite + 1)
    if base in ("remember", "forget"):
        return following == "T"
    if base in _OBJECTS:
        return _object_head(clause) in _OBJECTS[base]
    if base in SETS["intransitive"]:
        return (following in ("", "P", "V") and base != "decline") or following == "V"
    if base == "succeed":
        return following in ("", "V", "P", "S") and clause.letter(clause.finite + 2) != "G"
    if base in ("allow", "permit"):
        return bool(_object_head(clause)) and "T" in clause.tail
    if base in ("increase", "decrease", "strengthen", "weaken", "reduce", "widen", "lengthen"):
        return following in ("", "P", "V", "D", "N", "A") and "by" not in clause.text.split()
    unfit = (base in ("contain", "possess") and following == "d") or (  # 'contains much talk'
        base in ("include", "exclude") and "from" in clause.text.split()
    )
    return following in tuple("DdNARZ") and not unfit


def _fail_to(clause: Clause, *, negated: bool) -> str | None:
    """'failed to reach the village' for 'reached it'; 'has failed to' for a perfect."""
    check_words(clause, clause.subject_end, clause.end)
    if clause.kind == "H" and clause.letter(clause.finite + 1) == "E":
        token = clause.tokens[clause.finite + 1]
        base = base_of(token.word, "VVN")
        if (
            base not in _FAIL_PLAIN
            or negated
            or token.tag == "VBN"
            or clause.letter(clause.finite + 2) in ("E", "A")
        ):
            return None
        return edited(clause.text, [(token.start, token.end, f"failed to {base}")])
    if clause.kind != "F" or clause.finite > clause.subject_end:
        return None
    base = lexical_base(clause)
    unfit = (
        base not in (SETS["fail"] if negated else _FAIL_PLAIN)
        or says_more(clause)  # 'failed to perform it ineptly'
        or (base == "find" and re.search(r"N(V?A|T|G)", clause.tail))  # 'found it useful'
        or (
            clause.letter(clause.finite + 1) not in tuple("DdNARZW")
            and base not in SETS["fail_alone"]
        )
    )
    if unfit:
        return None
    if negated:
        deny_tail(clause)
    return _changed_verb(clause, "fail", negated=negated, suffix=f" to {base}")


# -- Finds the antonym of a word: first in the rules' lists, then in WordNet ----------------------


AFFIX_SHARE = 0.6
"""The minimum share of a word's first sense for using its affixed antonym from WordNet.

It can be lower than for other antonyms because the affix already selects the sense ('unhappy').
"""


def affixed_quality(word: str, *, participle: bool) -> str | None:
    """'unsafe' for 'safe', 'unlocked' for 'locked'."""
    group = WORDS["affixed_participles" if participle else "affixed"]
    return group.get(word) or _by_affix(word, "adj")


def other_quality(word: str, *, participle: bool) -> str | None:
    """'closed' for 'open', 'vacant' for 'occupied'."""
    return WORDS["lexical_participles" if participle else "lexical"].get(word)


def affixed_adverb(word: str) -> str | None:
    """'unevenly' for 'evenly'."""
    return WORDS["affixed_adverbs"].get(word) or _by_affix(word, "adv")


def is_affixed(word: str, antonym: str) -> bool:
    """Whether an antonym is the word plus a negative affix, or swaps one for '-ful'."""
    base = word.removesuffix("ful")
    if antonym == base + "less":
        return True
    return antonym.endswith(word) and negative_affix(antonym, anchor_words=(word,)) is not None


def _by_affix(word: str, part: Part) -> str | None:
    if word in SETS["wordnet_unfit"] or negative_affix(word) is not None:
        return None  # 'unsafe' becomes 'safe', which is not an affixal negation
    sense = first_sense(word, part)
    if sense is None or sense.share < AFFIX_SHARE:
        return None
    return next((other for other in sense.antonyms if is_affixed(word, other)), None)
