"""Verbal negation: 'not' or '-n't' on the finite verb, with do-support."""

from curation.generation.providers.rules.clause import (
    SETS,
    Clause,
    Skipped,
    SkipReason,
    base_of,
    edited,
)
from curation.generation.providers.rules.scope import Edits, check_words, deny_tail

_CONTRACTED = {"can": "can't", "will": "won't", "shall": "shan't", "am": "am not"}
_HIDDEN = {"'m": "'m not", "'re": " aren't", "'ve": " haven't", "'ll": " won't", "'s": ""}


def negate_verb(clause: Clause) -> str:
    """Add 'not' to the statement's finite verb.

    Raises:
        Skipped: the result would not contradict the claim or would not be good English.
    """
    check_quantifiers(clause)
    if clause.word(clause.finite + 1) == "there":
        raise Skipped(SkipReason.UNCLEAR)
    base = lexical_base(clause)
    edits = deny_tail(clause, lexical=base)
    if clause.letter(clause.subject_start) == "x":
        edits += _there(clause, edits)
    return edited(clause.text, [*edits, _negated(clause, base), *_second_base(clause)])


def _second_base(clause: Clause) -> Edits:
    """Return the edit for a second verb under the same 'did': 'did not sit down or *read*'."""
    if (position := clause.second_verb) is None:
        return []
    token = clause.tokens[position]
    base = base_of(token.word, token.tag)
    if not base:
        raise Skipped(SkipReason.UNCLEAR)
    return [(token.start, token.end, base)]


def check_quantifiers(clause: Clause, *, universal: bool = False) -> None:
    """Raise ``Skipped`` if the subject is a part or a number of things.

    Args:
        universal: whether 'all' and 'every' are allowed, because no 'not' comes next to them.
    """
    for i in range(clause.subject_start, clause.head + 1):
        word, letter = clause.word(i), clause.letter(i)
        number = letter == "Z" and clause.letter(clause.subject_start) not in "Dd"
        if (
            word in SETS["quantifiers"] and not (universal and word in SETS["verbal_all"])
        ) or number:
            raise Skipped(SkipReason.SCOPE)
    most = clause.word(clause.subject_start) == "most"  # 'Most don't' does contradict 'most do'
    check_words(clause, clause.subject_start + most, clause.finite)
    if clause.word(clause.head) in SETS["parts"] and clause.word(clause.head + 1) == "of":
        raise Skipped(SkipReason.SCOPE)
    if not clause.plain and "C" in clause.letters[clause.head : clause.subject_end]:
        raise Skipped(SkipReason.SCOPE)  # 'A and B aren't' may mean that only one of them is


def lexical_base(clause: Clause) -> str:
    """Return the finite verb's base; '' for be, do, a modal and an auxiliary 'have'.

    Raises:
        Skipped: the base is uncertain.
    """
    if clause.kind == "F":
        base = base_of(clause.verb.word, clause.verb.tag)
        if not base or (base in ("use", "dare", "need") and "T" in clause.tail[:1]):
            raise Skipped(SkipReason.UNCLEAR)
        return base
    return "have" if clause.kind == "H" and is_main_have(clause) else ""


def is_main_have(clause: Clause) -> bool:
    """Whether 'have' is a main verb: 'has a dog', 'has to go'."""
    return clause.letter(clause.after_adverbs()) not in ("E", "B")


def _negated(clause: Clause, base: str) -> tuple[int, int, str]:
    verb = clause.verb
    informal = "'" in clause.text.replace("’", "'") and "K" not in clause.letters
    informal = informal or clause.word(clause.head) in ("i", "you", "we")
    if clause.kind == "O" or base:
        return _do_support(clause, base, informal=informal)
    word = verb.lower.replace("’", "'")
    if word.startswith("'"):
        return _hidden(clause, word)
    if clause.kind == "M" and word not in SETS["modals"]:
        raise Skipped(SkipReason.SCOPE)
    return verb.start, verb.end, with_not(word, informal=informal)


def with_not(word: str, *, informal: bool) -> str:
    """'is': 'isn't' or 'is not'; 'can': 'can't' or 'cannot'."""
    if informal:
        return _CONTRACTED.get(word, word + "n't")
    return "cannot" if word == "can" else f"{word} not"


def _hidden(clause: Clause, word: str) -> tuple[int, int, str]:
    """Return a verb that is contracted with its subject: 'I'm', 'they've'."""
    new = _HIDDEN.get(word)
    if new is None:
        raise Skipped(SkipReason.UNCLEAR)
    if word == "'s":
        following = clause.letter(clause.after_adverbs())
        tag = clause.tokens[clause.after_adverbs()].tag if following else ""
        is_passive = "by" in predicate_words(clause)
        if tag in ("VBN", "VHN") or (following == "E" and not is_passive):
            raise Skipped(SkipReason.UNCLEAR)  # 'he's finished' may be 'he has'
        new = " isn't"
    return clause.verb.start, clause.verb.end, new


def _do_support(clause: Clause, base: str, *, informal: bool) -> tuple[int, int, str]:
    """Write 'did not plan' for 'planned'; adverbs before the verb stay between the two words."""
    verb = clause.verb
    first = clause.tokens[clause.subject_end]
    for i in range(clause.subject_end, clause.finite):
        if not clause.word(i).endswith("ly") and clause.word(i) not in SETS["between"]:
            raise Skipped(SkipReason.UNCLEAR)  # 'the tenants upstairs complained'
    adverbs = clause.text[first.start : verb.start] if first.start < verb.start else ""
    helper = with_not(helping(verb.tag), informal=informal)
    return first.start, verb.end, f"{helper} {adverbs}{base or 'do'}"


def helping(tag: str) -> str:
    """Return the form of 'do' for a verb with this tag."""
    return {"Z": "does", "D": "did"}.get(tag[-1], "do")


def _there(clause: Clause, edits: Edits) -> Edits:
    """Write 'There are not any dogs': bare nouns take 'any'."""
    following = clause.after_adverbs()
    if clause.kind != "B" or clause.letter(following) not in "DdNA":
        raise Skipped(SkipReason.NO_CONSTRUCTION)
    if clause.letter(following) in "NA":
        start = clause.tokens[following].start
        return [(start, start, "any ")]
    if clause.word(following) not in ("a", "an", "some", "enough"):
        raise Skipped(SkipReason.SCOPE)
    return []


# -- 'never', 'in no way' and 'at no point' next to the finite verb -------------------------------


_GRADED = tuple("ful ous able ible ive ing ent ant al ic y ar ate less some".split())


def denied_tail(clause: Clause) -> Edits:
    """Return the edits after the verb when an absolute negator comes before it.

    Raises:
        Skipped: a word there would be outside the negation's scope or change its meaning.
    """
    may = clause.kind == "M" and clause.word(clause.finite) in ("may", "might")
    both = clause.word(clause.subject_end - 1) == "both"
    if may or both or "each" in predicate_words(clause):
        raise Skipped(SkipReason.SCOPE)
    check_words(clause, clause.head + 1, clause.finite)
    if SETS["frequent"] & {clause.word(i) for i in range(clause.subject_end, clause.end)}:
        raise Skipped(SkipReason.SCOPE)  # 'never always', 'no one every day'
    return deny_tail(clause, lexical=lexical_base(clause))


def predicate_words(clause: Clause) -> set[str]:
    """Return the words from the finite verb on."""
    return {clause.word(i) for i in range(clause.finite, clause.end)}


def never(clause: Clause) -> str | None:
    """Put 'never' or 'in no way' next to the finite verb, except in a single dated event."""
    check_quantifiers(clause)
    if clause.finite != clause.subject_end or clause.is_contracted:
        return None
    edits = denied_tail(clause)
    verb = clause.verb
    if clause.kind == "B":
        return _in_no_way(clause, edits) or _was_never(clause, edits)
    present = verb.tag in ("VVZ", "VVB", "VVI") or clause.kind == "M"
    if not present and has_date(clause):
        return None
    modal = clause.kind == "M" and verb.lower in ("can", "could", "will", "should")
    if modal or (clause.kind == "H" and not is_main_have(clause)):
        return edited(clause.text, [*edits, (verb.end, verb.end, " never")])
    if clause.kind != "F" or (base := lexical_base(clause)) in SETS["states"]:
        return None
    attitude = (base in SETS["attitudes"] and verb.tag != "VVD") or base in SETS["effects"]
    adverb = "in no way " if attitude else "never "
    return edited(clause.text, [*edits, (verb.start, verb.start, adverb)])


def has_date(clause: Clause) -> bool:
    """Whether the claim says when: a year, a day, 'before', 'during'."""
    words = {
        clause.word(i) for i in range(clause.end) if not clause.subject_start <= i <= clause.head
    }
    years = any(len(word) == 4 and word.isdigit() for word in words)
    return years or bool(words & SETS["now"])


def _in_no_way(clause: Clause, edits: Edits) -> str | None:
    """Write 'is in no way practical', for gradable qualities."""
    quality = clause.finite + 1
    if clause.tokens[quality].tag != "AJ0" or clause.letter(quality + 1) not in ("", "P", "T", "S"):
        return None
    word = clause.word(quality)
    graded = word.endswith(_GRADED) or word in SETS["graded_too"]
    if not graded or word in SETS["not_graded"] | SETS["collective_predicates"]:
        return None
    end = clause.verb.end
    return edited(clause.text, [*edits, (end, end, " in no way")])


def _was_never(clause: Clause, edits: Edits) -> str | None:
    """'was never repaired': a past state or event without a date."""
    end, fits = clause.verb.end, clause.letter(clause.finite + 1) in tuple("AE")
    if clause.verb.tag != "VBD" or has_date(clause) or not fits:
        return None
    return edited(clause.text, [*edits, (end, end, " never")])
