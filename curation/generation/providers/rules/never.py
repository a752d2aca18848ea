"""'never', 'in no way' and 'at no point' next to the finite verb."""

from curation.generation.providers.rules.grammar.clause import Clause, Skipped, SkipReason, edited
from curation.generation.providers.rules.grammar.scope import Edits, check_words, deny_tail
from curation.generation.providers.rules.grammar.word_lists import WORDS
from curation.generation.providers.rules.verbal import check_quantifiers, is_main_have, lexical_base

_TOGETHER = frozenset(WORDS["collective_predicates"])
_GRADED = tuple("ful ous able ible ive ing ent ant al ic y ar ate less some".split())
_GRADED_TOO = frozenset(
    "safe fair wise clear proper sound neat kind proud strong weak difficult easy cheap good"
    " rude polite valid".split()
)
_NOT_GRADED = frozenset(
    "early daily weekly monthly yearly only likely ready many any present absent vacant solvent"
    " alive finite infinite mortal identical final total annual single double legendary".split()
)
_NOW = frozenset(
    "today tonight yesterday tomorrow now currently recently ago overnight moment afternoon"
    " morning evening night week month year monday tuesday wednesday thursday friday saturday"
    " sunday january february march april june july august september october november december"
    " spring summer autumn winter weekend noon midnight nightfall birth minute hour day"
    " quarter last when while before after during since years decade childhood century"
    " appeal".split()
)
_FREQUENT = frozenset(
    "always often usually generally typically normally commonly frequently every all".split()
)


def denied_tail(clause: Clause) -> Edits:
    """Return the edits after the verb when an absolute negator comes before it.

    Raises:
        Skipped: a word there would be outside the negation's scope or change its meaning.
    """
    if clause.kind == "M" and clause.word(clause.finite) in ("may", "might"):
        raise Skipped(SkipReason.SCOPE)
    if clause.word(clause.subject_end - 1) == "both" or "each" in predicate_words(clause):
        raise Skipped(SkipReason.SCOPE)
    check_words(clause, clause.head + 1, clause.finite)
    if _FREQUENT & {clause.word(i) for i in range(clause.subject_end, clause.end)}:
        raise Skipped(SkipReason.SCOPE)  # 'never always', 'no one every day'
    return deny_tail(clause, lexical=lexical_base(clause))


def predicate_words(clause: Clause) -> set[str]:
    """Return the words from the finite verb on."""
    return {clause.word(i) for i in range(clause.finite, clause.end)}


def never(clause: Clause) -> str | None:
    """Put 'never' or 'in no way' next to the finite verb, except in a single dated event."""
    check_quantifiers(clause)
    if clause.finite != clause.subject_end or clause.verb.word.startswith(("'", "’")):
        return None
    edits = denied_tail(clause)
    verb = clause.verb
    if clause.kind == "B":
        return _in_no_way(clause, edits) or _was_never(clause, edits)
    if _dated(clause):
        return None
    if clause.kind == "M" and clause.word(clause.finite) in ("can", "could", "will", "should"):
        return edited(clause.text, [*edits, (verb.end, verb.end, " never")])
    if clause.kind == "H" and not is_main_have(clause):
        return edited(clause.text, [*edits, (verb.end, verb.end, " never")])
    if clause.kind != "F" or (base := lexical_base(clause)) in _STATES:
        return None
    attitude = (base in _ATTITUDES and verb.tag != "VVD") or base in _EFFECTS
    return edited(clause.text, [*edits, (verb.start, verb.start, _ADVERB[attitude])])


_ADVERB = {True: "in no way ", False: "never "}
_ATTITUDES = frozenset(
    "trust like love hate approve support agree believe understand tolerate deserve explain share"
    " respect enjoy admire want need prefer match vary justify reproduce fear".split()
)
_EFFECTS = frozenset("surprise affect harm resemble bother impress influence offend".split())


_STATES = frozenset(
    "know own belong contain consist depend resemble weigh cost mean exist remain stay keep lie"
    " stand cover surround include differ fit suit seem appear sound look feel smell taste prove"
    " turn become grow last connect separate link lead run stretch extend border face hang live"
    " die arise begin start end survive succeed double speak".split()
)


def _dated(clause: Clause) -> bool:
    present = clause.verb.tag in ("VVZ", "VVB", "VVI") or clause.kind == "M"
    return not present and has_date(clause)


def has_date(clause: Clause) -> bool:
    """Whether the claim says when: a year, a day, 'before', 'during'."""
    words = {
        clause.word(i) for i in range(clause.end) if not clause.subject_start <= i <= clause.head
    }
    years = any(len(word) == 4 and word.isdigit() for word in words)
    return years or bool(words & _NOW)


def _in_no_way(clause: Clause, edits: Edits) -> str | None:
    """Write 'is in no way practical', for gradable qualities."""
    quality = clause.finite + 1
    if clause.tokens[quality].tag != "AJ0" or clause.letter(quality + 1) not in ("", "P", "T", "S"):
        return None
    word = clause.word(quality)
    graded = word.endswith(_GRADED) or word in _GRADED_TOO
    if not graded or word in _NOT_GRADED | _TOGETHER:
        return None
    end = clause.verb.end
    return edited(clause.text, [*edits, (end, end, " in no way")])


def _was_never(clause: Clause, edits: Edits) -> str | None:
    """'was never repaired': a past state or event without a date."""
    if (
        clause.verb.tag != "VBD"
        or has_date(clause)
        or clause.letter(clause.finite + 1) not in tuple("AE")
    ):
        return None
    end = clause.verb.end
    return edited(clause.text, [*edits, (end, end, " never")])
