"""Opposites of the predicate: by an affix, by another word, and negated so that they cancel out."""

from collections.abc import Mapping
from typing import NamedTuple

from curation.generation.rules.clause import Clause, Skip, Skipped, edited
from curation.generation.rules.forms import base_of, participle, past, third
from curation.generation.rules.scope import check_reasons, check_words, deny_tail
from curation.generation.rules.verbal import (
    check_quantifiers,
    is_main_have,
    lexical_base,
    with_not,
)
from curation.generation.rules.words import WORDS

_LINKING = frozenset("remain stay feel look seem sound prove become smell taste".split())
_OBJECTS: dict[str, frozenset[str]] = {
    base: frozenset(words) for base, words in WORDS["objects"].items()
}
_FAIL = frozenset(WORDS["fail"])
_FAIL_ALONE = frozenset(WORDS["fail_alone"])
_NO_HAVE = frozenset(WORDS["no_have"])
# After which words an opposite still takes the same preposition.
_SAFE_NEXT = frozenset("for in on at during when while to by under along throughout near".split())
_OWN_PREPOSITION = frozenset(
    "full empty aware unaware conscious capable certain tolerant afraid typical worthy fond sure"
    " familiar compatible consistent satisfied content acquainted honest clear careful generous"
    " polite kind patient responsible happy careless confident visible accessible audible useful"
    " sensitive comfortable sympathetic".split()
)
_INFINITIVE = frozenset(
    "easy difficult safe dangerous cheap expensive good bad happy sad able willing certain afraid"
    " qualified eligible competent motivated reasonable wise important necessary possible"
    " legal illegal lawful comfortable pleasant".split()
)
_DEGREE = frozenset("very".split())


class Quality(NamedTuple):
    """The predicate adjective or participle of a clause, and where it stands."""

    position: int
    word: str
    participle: bool


def affixal(clause: Clause) -> str:
    """The statement with an affixed opposite in its predicate.

    Raises:
        Skipped: none is known that fits for sure.
    """
    check_quantifiers(clause)
    check_reasons(clause)
    if (quality := find_quality(clause)) is not None:
        words = WORDS["affixed_participles"] if quality.participle else WORDS["affixed"]
        return _with_opposite(clause, quality, words)
    if clause.kind == "M":
        return _unable(clause)
    if clause.kind == "F" or clause.kind == "H":
        for attempt in (_affixed_verb, _affixed_adverb):
            if (new := attempt(clause)) is not None:
                return new
    raise Skipped(Skip.NO_OPPOSITE)


def lexical(clause: Clause) -> str:
    """The statement with an antonym for its predicate, or 'fail to' before it.

    Raises:
        Skipped: none is known that fits for sure.
    """
    check_quantifiers(clause)
    check_reasons(clause)
    if (quality := find_quality(clause)) is not None:
        words = WORDS["lexical_participles"] if quality.participle else WORDS["lexical"]
        return _with_opposite(clause, quality, words)
    for attempt in (_lack, _antonym_verb, _fail_to):
        if (new := attempt(clause, negated=False)) is not None:
            return new
    raise Skipped(Skip.NO_OPPOSITE)


def negated_antonym(clause: Clause) -> str:
    """The statement said again by negating an opposite that leaves no middle ground.

    Raises:
        Skipped: none is known that fits for sure.
    """
    check_quantifiers(clause)
    check_reasons(clause)
    if (quality := find_quality(clause)) is not None:
        return _negated_quality(clause, quality)
    for attempt in (_lack, _antonym_verb, _fail_to):
        if (new := attempt(clause, negated=True)) is not None:
            return new
    raise Skipped(Skip.NO_OPPOSITE)


def find_quality(clause: Clause) -> Quality | None:
    """The adjective or participle after 'be' or a linking verb that the claim ends in."""
    linking = clause.kind == "F" and base_of(clause.verb.word, clause.verb.tag) in _LINKING
    if clause.kind != "B" and not linking:
        return None
    position = clause.after_adverbs()
    check_words(clause, clause.finite + 1, position)
    adverbs = {clause.word(i) for i in range(clause.finite + 1, position)}
    letter = clause.letter(position)
    is_adverb = clause.word(position - 1) == "well"
    if is_adverb and position - 1 > clause.finite and letter in ("", "P"):
        return Quality(position - 1, "well", False) if len(adverbs) == 1 else None
    if adverbs - _DEGREE - _WHEN or letter not in ("A", "E"):
        return None
    if clause.tokens[position].tag in ("AJC", "AJS", "ORD"):
        return None
    word = clause.word(position)
    known_participle = word in WORDS["affixed_participles"] or word in WORDS["lexical_participles"]
    return Quality(position, word, known_participle or letter == "E")


_WHEN = frozenset("usually always generally often normally now currently".split())


def _with_opposite(clause: Clause, quality: Quality, words: Mapping[str, str]) -> str:
    opposite = words.get(quality.word)
    if opposite is None:
        raise Skipped(Skip.NO_OPPOSITE)
    _check_after(clause, quality)
    token = clause.tokens[quality.position]
    return edited(clause.text, [(token.start, token.end, opposite)])


def _check_after(clause: Clause, quality: Quality) -> None:
    """What follows the quality must go with its opposite as well."""
    letter, word = clause.letter(quality.position + 1), clause.word(quality.position + 1)
    if quality.word in _NOT_WITH and word in _NOT_WITH[quality.word]:
        raise Skipped(Skip.NO_OPPOSITE)
    check_words(clause, quality.position + 1, min(quality.position + 3, clause.end))
    if letter in ("C", "N", "A", "E", "G", "W", "d", "D", "R", "Z", "F") or word == "enough":
        raise Skipped(Skip.NO_OPPOSITE)
    if letter == "T" and quality.word not in _INFINITIVE:
        raise Skipped(Skip.NO_OPPOSITE)
    if letter == "P" and word not in _SAFE_NEXT and quality.word not in _OWN_PREPOSITION:
        if not (quality.participle and word in ("by", "with", "against", "from", "as")):
            if word not in ("with", "of", "from", "after", "before", "below", "above", "against",
                            "behind", "between", "beneath", "inside", "outside", "without"):
                raise Skipped(Skip.NO_OPPOSITE)
            if word in ("of", "with") or (word == "from" and quality.word == "safe"):
                raise Skipped(Skip.NO_OPPOSITE)
    if quality.participle and word == "by" and quality.word not in _BY:
        raise Skipped(Skip.NO_OPPOSITE)
    if quality.participle and _is_event(clause, quality):
        raise Skipped(Skip.NO_OPPOSITE)


_NOT_WITH = {
    "responsible": {"for"}, "new": {"to"}, "late": {"for"}, "good": {"to"}, "short": {"of", "on"},
    "sick": {"of", "with"}, "open": {"about", "with"}, "clear": {"of", "from"}, "safe": {"from"},
    "able": {""}, "content": {"to"}, "certain": {"to"}, "sure": {"to"}, "present": {"in"},
    "cold": {"to"}, "dry": {"on"}, "dark": {"to"}, "low": {"on"}, "hard": {"on", "at"},
    "heavy": {"on"}, "light": {"on"}, "easy": {"on"}, "fair": {"for"}, "well": {"for"},
}  # fmt: skip
_BY = frozenset(
    "touched affected harmed changed impressed convinced protected supported supervised attended"
    " noticed damaged occupied motivated".split()
)


def _is_event(clause: Clause, quality: Quality) -> bool:
    """'was signed in June' tells an event; 'was unsigned in June' would be a state."""
    rest = [clause.word(i) for i in range(quality.position + 1, clause.end)]
    verbs = [clause.letter(i) for i in range(clause.finite + 1, quality.position)]
    dated = any(word.isdigit() or word in _DATES for word in rest)
    return "E" in verbs or (clause.verb.tag == "VBD" and dated and quality.word not in _STATE)


_DATES = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may"
    " june july august september october november december yesterday ago last".split()
)
_STATE = frozenset("married locked armed inhabited occupied lit employed related interested".split())


def _unable(clause: Clause) -> str:
    """'are unable to swim' for 'can swim'."""
    following = clause.finite + 1
    if clause.verb.lower != "can" or clause.letter(following) != "I":
        raise Skipped(Skip.NO_OPPOSITE)
    if clause.word(following) == "be" or clause.plural is None:
        raise Skipped(Skip.NO_OPPOSITE)
    if clause.word(clause.head) in ("it", "you"):  # 'you can trust it' speaks of no ability
        raise Skipped(Skip.NO_OPPOSITE)
    check_words(clause, following, clause.end)
    form = "am" if clause.word(clause.head) == "i" else "are" if clause.plural else "is"
    return edited(clause.text, [(clause.verb.start, clause.verb.end, f"{form} unable to")])


def inflected(base: str, tag: str) -> str:
    """A verb in the finite form of another: third person, past, or base."""
    if tag in ("VVD", "VHD"):
        return past(base)
    return third(base) if tag in ("VVZ", "VHZ") else base


def _affixed_verb(clause: Clause) -> str | None:
    base = lexical_base(clause)
    opposite = WORDS["affixed_verbs"].get(base)
    if opposite is None or clause.finite != clause.subject_end or clause.kind != "F":
        return None
    following = clause.word(clause.finite + 1)
    if clause.letter(clause.finite + 1) in ("T", "I") or (base == "agree" and following != "with"):
        return None
    if base == "approve" and following != "of" or base == "like" and "T" in clause.tail:
        return None
    check_words(clause, clause.finite + 1, clause.end)
    verb = clause.verb
    return edited(clause.text, [(verb.start, verb.end, inflected(opposite, verb.tag))])


def _affixed_adverb(clause: Clause) -> str | None:
    """'translated it incorrectly' for 'correctly': the manner is the claim's last word."""
    for i in range(clause.finite - 1, clause.end):
        opposite = WORDS["affixed_adverbs"].get(clause.word(i))
        if clause.letter(i) in "SW,":
            return None
        if opposite is None or clause.letter(i) != "V" or clause.letter(i + 1) in ("A", "C", "V"):
            continue
        check_words(clause, clause.finite + 1, clause.end)
        token = clause.tokens[i]
        return edited(clause.text, [(token.start, token.end, opposite)])
    return None


def _object_head(clause: Clause) -> str:
    """The noun that leads the object right after the verb; '' where there is none."""
    position = clause.finite + 1
    while clause.letter(position) in tuple("DdAZGEK") or (
        clause.letter(position) == "N" and clause.letter(position + 1) in tuple("NK")
    ):
        position += 1
    return clause.word(position) if clause.letter(position) in ("N", "R") else ""


def _lack(clause: Clause, *, negated: bool) -> str | None:
    """'lacks a refrigerator' for 'has a refrigerator'."""
    if clause.kind != "H" or not is_main_have(clause) or clause.finite != clause.subject_end:
        return None
    noun = _object_head(clause)
    article = clause.word(clause.finite + 1)
    bare = clause.letter(clause.finite + 1) in ("N", "A")
    if not noun or noun in _NO_HAVE or not (article in ("a", "an") or bare):
        return None
    if clause.verb.word.startswith(("'", "’")) or "C" in clause.tail or "I" in clause.tail:
        return None
    if "E" in clause.tail[:5] or "T" in clause.tail or clause.letter(clause.head) == "R":
        return None
    check_words(clause, clause.finite + 1, clause.end)
    return _changed_verb(clause, "lack", negated=negated)


def _changed_verb(clause: Clause, base: str, *, negated: bool, suffix: str = "") -> str:
    """The finite verb replaced by a form of another, negated with do-support if asked."""
    verb = clause.verb
    if not negated:
        new = inflected(base, verb.tag)
    else:
        helper = {"VVZ": "does", "VHZ": "does", "VVD": "did", "VHD": "did"}.get(verb.tag, "do")
        informal = clause.word(clause.head) in ("i", "you", "we")
        new = f"{with_not(helper, informal=informal)} {base}"
    return edited(clause.text, [(verb.start, verb.end, new + suffix)])


_CANCELLING = frozenset("accept reject include exclude keep respect remember pass obey".split())
_INTRANSITIVE = frozenset("shrink expand diminish decline improve worsen".split())


def _antonym_verb(clause: Clause, *, negated: bool) -> str | None:
    if clause.kind != "F" or clause.finite != clause.subject_end:
        return None
    base = lexical_base(clause)
    opposite = WORDS["lexical_verbs"].get(base)
    if opposite is None or (negated and base not in _CANCELLING):
        return None
    following = clause.letter(clause.finite + 1)
    if not _takes(clause, base, following):
        return None
    check_words(clause, clause.finite + 1, clause.end)
    if negated:
        deny_tail(clause, lexical="allow")
    if any(clause.word(i).endswith("ly") for i in range(clause.finite, clause.end)):
        return None  # 'rejected it willingly'
    return _changed_verb(clause, opposite, negated=negated)


def _takes(clause: Clause, base: str, following: str) -> bool:
    """Whether what follows a verb is what its antonym takes in the same sense."""
    if base in ("remember", "forget"):
        return following == "T"
    if base in _OBJECTS:
        return _object_head(clause) in _OBJECTS[base]
    if base in _INTRANSITIVE:
        return following in ("", "P", "V") and base != "decline" or following == "V"
    if base == "succeed":
        return following in ("", "V", "P", "S") and clause.letter(clause.finite + 2) != "G"
    if base in ("allow", "permit"):
        return bool(_object_head(clause)) and "T" in clause.tail
    if base in ("increase", "decrease", "strengthen", "weaken", "reduce", "widen", "lengthen"):
        return following in ("", "P", "V", "D", "N", "A") and "by" not in clause.text.split()
    return following in tuple("DdNARZ")


def _fail_to(clause: Clause, *, negated: bool) -> str | None:
    """'failed to reach the village' for 'reached it'; 'has failed to' for a perfect."""
    adverbs = [clause.word(i) for i in range(clause.subject_end, clause.finite)]
    check_words(clause, clause.subject_end, clause.end)
    if clause.kind == "H" and clause.letter(clause.finite + 1) == "E":
        token = clause.tokens[clause.finite + 1]
        base = base_of(token.word, "VVN")
        if base not in _FAIL or negated or token.tag == "VBN" or clause.letter(clause.finite + 2) in ("E", "A"):
            return None
        return edited(clause.text, [(token.start, token.end, f"failed to {base}")])
    if clause.kind != "F" or adverbs:
        return None
    base = lexical_base(clause)
    if base not in _FAIL or "C" in clause.tail or "T" in clause.tail:
        return None
    if clause.letter(clause.finite + 1) not in tuple("DdNARZW") and base not in _FAIL_ALONE:
        return None
    if negated:
        deny_tail(clause)
    return _changed_verb(clause, "fail", negated=negated, suffix=f" to {base}")


def _negated_quality(clause: Clause, quality: Quality) -> str:
    group = "complementary_participles" if quality.participle else "complementary"
    opposite = WORDS[group].get(quality.word)
    if opposite is None or clause.kind != "B" or quality.position != clause.finite + 1:
        raise Skipped(Skip.NO_OPPOSITE)
    if clause.verb.word.startswith("'") and clause.verb.lower not in ("'m", "'re"):
        raise Skipped(Skip.UNCLEAR)
    _check_after(clause, quality)
    edits = deny_tail(clause)
    token = clause.tokens[quality.position]
    return edited(clause.text, [*edits, (token.start, token.end, f"not {opposite}")])
