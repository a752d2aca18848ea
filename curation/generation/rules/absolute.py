"""Absolute negation: 'no' and its compounds, 'none of', 'never', 'in no way'."""

from curation.generation.rules.clause import Clause, Skip, Skipped, edited
from curation.generation.rules.forms import base_of, third
from curation.generation.rules.scope import Edits, check_words, deny_tail
from curation.generation.rules.tagging import is_known
from curation.generation.rules.verbal import check_quantifiers, is_main_have, lexical_base
from curation.generation.rules.words import WORDS

_COLLECTIVE = frozenset(WORDS["collective"])
_TOGETHER = frozenset(WORDS["collective_predicates"])
_NO_HAVE = frozenset(WORDS["no_have"])
_GRADED = tuple("ful ous able ible ive ing ent ant al ic y ar ate less some".split())
_NOT_GRADED = frozenset("early daily weekly monthly yearly only likely ready many any".split())
_STRICT = frozenset(WORDS["complementary"]) | frozenset(WORDS["complementary"].values())
_OWNED = frozenset("the these those my your our their his her its".split())
_ONES = {
    "someone": "No one", "everyone": "No one", "somebody": "Nobody", "everybody": "Nobody",
    "something": "Nothing", "everything": "Nothing",
}  # fmt: skip
_PART_OF = frozenset(
    "few lot number couple series group majority minority third quarter half handful variety"
    " range pair total dozen hundred thousand million great large".split()
)
_PAIRS = frozenset(
    "trousers scissors glasses jeans headphones goggles shorts binoculars minutes"
    " negotiations talks remains surroundings outskirts premises headquarters belongings"
    " clothes police goods savings earnings parents eyes hands arms legs feet ears lips gums"
    " knees shoulders contents instructions accounts twins lungs notes".split()
)
_NOW = frozenset(
    "today tonight yesterday tomorrow now currently recently ago overnight moment afternoon"
    " morning evening night week month year monday tuesday wednesday thursday friday saturday"
    " sunday january february march april june july august september october november december"
    " spring summer autumn winter weekend noon midnight nightfall birth minute hour day"
    " when while before after during since years decade childhood century appeal".split()
)


def negate_absolutely(clause: Clause) -> str:
    """The statement denied by an absolute negator.

    Raises:
        Skipped: no construction fits for sure.
    """
    if clause.letter(clause.subject_start) == "x":
        return _no_there(clause)
    for attempt in (_no_subject, _no_object, _none_of, _never):
        new = attempt(clause)
        if new is not None:
            return new
    raise Skipped(Skip.NO_CONSTRUCTION)


def _put(clause: Clause, first: int, last: int, new: str, edits: Edits) -> str:
    """The text with the words from first to last replaced, capitalised where the sentence opens."""
    start, end = clause.tokens[first].start, clause.tokens[last].end
    new = new[0].upper() + new[1:] if start == 0 else new[0].lower() + new[1:]
    return edited(clause.text, [*edits, (start, end, new)])


def _no_there(clause: Clause) -> str:
    """'There is no cat', 'There were no dogs'."""
    following = clause.after_adverbs()
    edits = deny_tail(clause)
    if clause.kind != "B" or following != clause.finite + 1:
        raise Skipped(Skip.NO_CONSTRUCTION)
    token = clause.tokens[following]
    if clause.word(following) in ("a", "an", "some"):
        if clause.word(following + 1) in _PART_OF:
            raise Skipped(Skip.SCOPE)
        edits = [edit for edit in edits if edit[0] != token.start]
        return edited(clause.text, [*edits, (token.start, token.end, "no")])
    if clause.letter(following) in "NA":
        return edited(clause.text, [*edits, (token.start, token.start, "no ")])
    raise Skipped(Skip.SCOPE)


def _tail_edits(clause: Clause) -> Edits:
    if clause.kind == "M" and clause.word(clause.finite) in ("may", "might"):
        raise Skipped(Skip.SCOPE)
    if clause.word(clause.subject_end - 1) == "both" or "each" in _words(clause):
        raise Skipped(Skip.SCOPE)
    check_words(clause, clause.head + 1, clause.finite)
    if _FREQUENT & {clause.word(i) for i in range(clause.subject_end, clause.end)}:
        raise Skipped(Skip.SCOPE)  # 'never always', 'no one every day'
    return deny_tail(clause, lexical=lexical_base(clause))


_FREQUENT = frozenset(
    "always often usually generally typically normally commonly frequently every all".split()
)


def _words(clause: Clause) -> set[str]:
    return {clause.word(i) for i in range(clause.finite, clause.end)}


def _no_subject(clause: Clause) -> str | None:
    """'No X' for 'A X', 'Some Xs', 'Every X', 'Xs'; 'No one' for 'Someone'."""
    start, word = clause.subject_start, clause.word(clause.subject_start)
    if "C" in clause.letters[start : clause.subject_end] or clause.letter(start) == "Z":
        return None
    following = clause.word(start + 1)
    if word in _ONES and clause.head == start:
        return _put(clause, start, start, _ONES[word], _tail_edits(clause))
    if following == "of":
        return _none_of_them(clause) if word in ("some", "most", "many", "each", "one") else None
    if clause.letter(clause.head) != "N" or "K" in clause.letters[start : clause.head]:
        return None
    if word in ("a", "an", "some", "every", "many", "several", "most", "any"):
        if word == "any" or following in _PART_OF or clause.letter(start + 1) == "Z":
            return None
        if clause.kind == "B" and clause.word(clause.finite + 1) in _OWNED:
            return None  # 'A typical case was the housewife …' names one
        if word in ("a", "an") and _about_kinds(clause):
            return None
        return _put(clause, start, start, "no", _tail_edits(clause))
    if (
        clause.letter(start) in "NA"
        and "G" not in clause.letters[start : clause.head]
        and clause.tokens[clause.head].tag == "NN2"
    ):
        return _bare_plural(clause)
    return None


def _about_kinds(clause: Clause) -> bool:
    """'A whale is a mammal': 'No whale is a mammal' is fine, 'A third is enough' is not."""
    return clause.letter(clause.head) != "N" or clause.word(clause.head) in _PART_OF


def _bare_plural(clause: Clause) -> str | None:
    start = clause.subject_start
    token = clause.tokens[start]
    if token.lower.endswith(("ian", "ese", "ean", "ans")) and token.lower not in _COMMON:
        return None  # perhaps a people, whose name keeps its capital
    if any(clause.tokens[i].tag in ("NP0", "AJC", "AJS") for i in range(start, clause.head + 1)):
        return None
    if clause.word(start) in _PAIRS or clause.word(clause.head) in _PAIRS or _is_collective(clause):
        return None
    word = token.word
    if start == 0 and not _is_proper(word):
        if not is_known(word):
            return None  # 'Lucullus' is no plural
        word = word[0].lower() + word[1:]
    return _put(clause, start, start, f"no {word}", _tail_edits(clause))


def _is_proper(word: str) -> bool:
    return (
        word.lower().removesuffix("s") in _PROPER
        or word.lower() in _PROPER
        or not word[1:].islower()
    )


_PROPER = frozenset(WORDS["proper_adjectives"])
_COMMON = frozenset(
    "beans fans cans pans plans loans means oceans veterans orphans organs civilians librarians"
    " pedestrians guardians magicians musicians politicians technicians physicians vegetarians"
    " historians comedians electricians mathematicians opticians amphibians clinicians artisans"
    " statisticians swans vans clans scans humans pelicans volcanoes".split()
)


def _none_of_them(clause: Clause) -> str | None:
    """'None of the Xs' for 'Some of the Xs'; the verb stays as it is where it can."""
    if clause.word(clause.subject_start + 2) not in _OWNED:
        return None
    edits = _tail_edits(clause)
    return _put(clause, clause.subject_start, clause.subject_start, "none", edits)


def _no_object(clause: Clause) -> str | None:
    """'has no X' for 'has an X'."""
    if clause.kind != "H" or not is_main_have(clause) or clause.letter(clause.finite - 1) == "V":
        return None
    check_quantifiers(clause)
    noun = clause.finite + 1
    article = clause.word(noun) in ("a", "an", "some")
    if not article and clause.letter(noun) not in "NA":
        return None
    last = noun
    while clause.letter(last + 1) in ("N", "A", "G", "E") and clause.letter(last) != "N":
        last += 1
    while clause.letter(last + 1) == "N":
        last += 1
    nouns = {clause.word(i) for i in range(noun, last + 1)}
    if clause.letter(last) != "N" or nouns & _NO_HAVE or clause.letter(last + 1) in ("E", "I"):
        return None
    if clause.tokens[noun].tag == "NP0" or clause.verb.word.startswith(("'", "’")):
        return None
    token = clause.tokens[noun]
    edits = [edit for edit in _tail_edits(clause) if edit[0] != token.start]
    change = (token.start, token.end, "no") if article else (token.start, token.start, "no ")
    return edited(clause.text, [*edits, change])


def _none_of(clause: Clause) -> str | None:
    """'None of the Xs', 'Neither of the two Xs' for 'The Xs', 'All the Xs'."""
    start, head = clause.subject_start, clause.head
    everyone = clause.word(start) == "all" and start + 1 < head
    owner = start + (1 + (clause.word(start + 1) == "of") if everyone else 0)
    if clause.tokens[head].tag != "NN2" or "C" in clause.letters[start : clause.subject_end]:
        return None
    if clause.tokens[head].word[0].isupper():
        return None
    if clause.word(owner) not in _OWNED or clause.word(head) in _PAIRS or _is_collective(clause):
        return None
    if not everyone and {clause.word(i) for i in range(start, head)} & _PART_OF:
        return None
    if clause.letter(clause.finite + 1) in ("D", "d") and clause.kind == "B":
        return None
    edits = _tail_edits(clause)
    word = clause.tokens[owner].lower
    if clause.word(owner + 1) == "two":
        edits = [*edits, *_singular_verb(clause)]
        return _put(clause, start, owner, f"neither of {word}", edits)
    if "Z" in clause.letters[start:head]:
        return None
    return _put(clause, start, owner, f"none of {word}", edits)


def _is_collective(clause: Clause) -> bool:
    """Whether what is said is true of the things together, not of each."""
    if {"each", "together", "one", "apart"} & _words(clause):
        return True
    if clause.kind == "F" and base_of(clause.verb.word, clause.verb.tag) in _COLLECTIVE:
        return True
    after = clause.after_adverbs()
    return any(clause.word(i) in _TOGETHER for i in range(clause.finite, after + 2)) or any(
        base_of(clause.word(i), "VVN") in _COLLECTIVE
        for i in range(clause.finite, after + 2)
        if clause.letter(i) == "E"
    )


def _singular_verb(clause: Clause) -> Edits:
    """'Neither of them *is*'."""
    verb = clause.verb
    singular = {"are": "is", "were": "was", "have": "has", "do": "does"}.get(verb.lower)
    if singular is None and verb.tag in ("VVB", "VVI"):
        singular = third(verb.lower)
    return [(verb.start, verb.end, singular)] if singular else []


def _never(clause: Clause) -> str | None:
    """'never' or 'in no way' beside the finite verb, where the claim is no single dated event."""
    check_quantifiers(clause)
    if clause.finite != clause.subject_end or clause.verb.word.startswith(("'", "’")):
        return None
    edits = _tail_edits(clause)
    verb = clause.verb
    if clause.kind == "B":
        return _in_no_way(clause, edits)
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
    " die arise begin start end survive succeed double".split()
)


def _dated(clause: Clause) -> bool:
    words = {
        clause.word(i) for i in range(clause.end) if not clause.subject_start <= i <= clause.head
    }
    present = clause.verb.tag in ("VVZ", "VVB", "VVI") or clause.kind == "M"
    years = any(len(word) == 4 and word.isdigit() for word in words)
    return not present and bool(years or words & _NOW)


def _in_no_way(clause: Clause, edits: Edits) -> str | None:
    """'is in no way practical': for qualities that come in degrees."""
    quality = clause.finite + 1
    if clause.tokens[quality].tag != "AJ0" or clause.letter(quality + 1) not in ("", "P", "T", "S"):
        return None
    word = clause.word(quality)
    if word in _STRICT | _NOT_GRADED or not word.endswith(_GRADED) or word in _TOGETHER:
        return None
    end = clause.verb.end
    return edited(clause.text, [*edits, (end, end, " in no way")])
