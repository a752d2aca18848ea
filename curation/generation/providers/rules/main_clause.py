"""Finds the main clause of a plain statement: its subject, its finite verb and the rest.

Each word becomes one letter for its part of speech, so that a regular expression whose matches are
word positions can describe a clause. Sentences that don't match are skipped: skipping one costs
nothing, misreading one produces bad English.
"""

import re

from curation.anchors.checks import anchor_problems
from curation.generation.providers.rules.clause import FINITE, SETS, Clause, Skipped, SkipReason
from curation.language.tagging import TaggedWord, tag

_LETTERS = {
    "AT0": "D",
    "DPS": "D",
    "DT0": "d",
    "AJ0": "A",
    "AJC": "A",
    "AJS": "A",
    "ORD": "A",
    "CRD": "Z",
    "NN0": "N",
    "NN1": "N",
    "NN2": "N",
    "NP0": "N",
    "ZZ0": "N",
    "UNC": "N",
    "PNI": "R",
    "PNP": "R",
    "PNX": "R",
    "POS": "K",
    "PRP": "P",
    "PRF": "P",
    "AV0": "V",
    "AVP": "V",
    "AVQ": "S",
    "CJS": "S",
    "CJT": "W",
    "DTQ": "W",
    "PNQ": "W",
    "CJC": "C",
    "VBB": "B",
    "VBZ": "B",
    "VBD": "B",
    "VHB": "H",
    "VHZ": "H",
    "VHD": "H",
    "VDB": "O",
    "VDZ": "O",
    "VDD": "O",
    "VM0": "M",
    "VVB": "F",
    "VVZ": "F",
    "VVD": "F",
    "VVI": "F",
    "VBI": "I",
    "VHI": "I",
    "VDI": "I",
    "VVG": "G",
    "VBG": "G",
    "VHG": "G",
    "VDG": "G",
    "VVN": "E",
    "VBN": "E",
    "VHN": "E",
    "VDN": "E",
    "TO0": "T",
    "XX0": "X",
    "EX0": "x",
}
_MODIFIERS = "(?:V?[AGEZ]|A,A|ACA)*"
_NOUN_PHRASE = f"(?:(?:[Dd]{{0,2}}{_MODIFIERS}N+K)*[Dd]{{0,2}}{_MODIFIERS}N+Z?|R|d)"
_PHRASE = f"(?:V?P+(?:{_NOUN_PHRASE}|Z)(?:C(?:{_NOUN_PHRASE}|Z))?)"
_AFTER_NOUN = f"{_PHRASE}*(?:[GE]V?(?:{_NOUN_PHRASE})?{_PHRASE}*)?"
# In a relative clause, the tagger may mistake a past form for a participle ('the cabin we rented').
_ONE_VERB = f"V*[{FINITE}E][^,{FINITE}SWC]*"
_BETWEEN_COMMAS = f",(?:W[^,]*[{FINITE}E]|[DSGEP])[^,]*,"
_RELATIVE = f"(?:W(?:{_NOUN_PHRASE})?{_ONE_VERB}|{_BETWEEN_COMMAS}|R{_ONE_VERB})"
_SUBJECT = (
    f"(?P<head>{_NOUN_PHRASE})(?P<after>{_AFTER_NOUN})(?P<relative>{_RELATIVE})?"
    f"(?P<joined>C{_NOUN_PHRASE}{_AFTER_NOUN})?"
)
_GERUND = f"(?P<gerund>GV?(?:{_NOUN_PHRASE})?{_PHRASE}*)"
_FRONT = f"(?:{_PHRASE}+(?:[GE]{_PHRASE}*)?,|V,|S[^,]*[{FINITE}][^,]*,|G[^,{FINITE}SW]*,)"
_CLAUSE = re.compile(
    f"(?P<front>(?>{_FRONT}){{1,2}})?(?:(?P<subject>{_SUBJECT}|{_GERUND})|(?P<there>x))"
    f"(?P<adverbs>V{{0,2}})(?P<finite>[{FINITE}])(?P<rest>.*)"
)
_PAST_FORM = re.compile(
    f"(?:{_FRONT})?(?:[Dd]{{0,2}}{_MODIFIERS}N+{_PHRASE}*|R)E(?=[DdRZ][^{FINITE}]*$|[DdRZ][^{FINITE}]*[SW])"
)

_UNFIT = re.compile(r"[?!;:\"“”()\[\]…/*–—]|\s-\s|\.\s+\S|''|‘")
_ABBREVIATION = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|St|Prof|[A-Z])\.")


def read_statement(text: str) -> Clause:
    """Parse a statement up to its finite verb, whatever follows.

    Raises:
        Skipped: it is not a plain statement, or its subject or verb is uncertain.
    """
    if _UNFIT.search(_ABBREVIATION.sub("", text)) or anchor_problems(text):
        raise Skipped(SkipReason.UNSUITABLE)
    tokens = tag(text)
    end = len(tokens) - (tokens[-1].word == ".") if tokens else 0
    if end < 2 or not text[0].isupper():
        raise Skipped(SkipReason.UNCLEAR)
    letters = _letters(tokens)
    if _CLAUSE.fullmatch(letters[:end]) is None:
        tokens, letters = _with_past_form(tokens, letters)
    match = _CLAUSE.fullmatch(letters[:end])
    if match is None:
        raise Skipped(SkipReason.UNCLEAR)
    clause = _clause(text, tokens, letters, end, match)
    _check_subject(clause)
    _check_agreement(clause)
    return clause


def check_one_claim(clause: Clause) -> None:
    """Raise ``Skipped`` if the claim has more than one clause or contains unknown words."""
    if "X" in clause.letters or "!" in clause.letters[: clause.end]:
        raise Skipped(SkipReason.UNCLEAR)
    stray = _stray_verb(clause, joined=False)
    if stray is not None and not _shares_subject(clause, stray):
        raise Skipped(SkipReason.COORDINATED if "C" in clause.tail else SkipReason.UNCLEAR)


def is_one_clause(clause: Clause) -> bool:
    """Whether no further predicate follows except in a clause of its own."""
    return _stray_verb(clause, joined=False) is None


def is_one_statement(clause: Clause) -> bool:
    """Whether one frame can contain all of it: no second sentence after a comma, no 'he said'."""
    return _stray_verb(clause, joined=True) is None


def _letters(tokens: list[TaggedWord]) -> str:
    letters = ""
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        letter = _LETTERS.get(token.tag, "," if token.word == "," else "!")
        before = letters.rstrip("V")[-1:]
        if token.tag in ("VVI", "VVB") and before in ("T", "M", "O"):
            letter = "I"
        elif token.tag == "VVD" and before in ("B", "H"):
            letter = "E"
        elif before == "H" and token.lower.endswith("ed") and following is not None:
            # 'has truncated the ridges'; 'has framed pictures' may be either
            letter = "E" if _LETTERS.get(following.tag) == "D" else letter
        letters += letter
    return letters


def _with_past_form(tokens: list[TaggedWord], letters: str) -> tuple[list[TaggedWord], str]:
    """Return the tags with a past form for a supposed participle: 'The embassy granted a visa'.

    This applies only if no other verb can be the finite one and an object follows.
    """
    match = _PAST_FORM.match(letters)
    if match is None:
        return tokens, letters
    position = match.end() - 1
    token = tokens[position]
    if not token.lower.endswith("ed") or token.lower in SETS["named"]:
        return tokens, letters
    changed = [*tokens[:position], token._replace(tag="VVD"), *tokens[position + 1 :]]
    return changed, f"{letters[:position]}F{letters[position + 1 :]}"


def _clause(
    text: str, tokens: list[TaggedWord], letters: str, end: int, match: re.Match[str]
) -> Clause:
    start = match.end("front") if match["front"] else 0
    finite = match.start("finite")
    if match["there"]:
        return Clause(text, tokens, letters, start, start + 1, start, True, None, finite, end)
    ends = match.end("subject")
    if match["gerund"]:
        return Clause(text, tokens, letters, start, ends, start, True, False, finite, end)
    head = match.end("head") - 1
    while letters[head] == "Z" and head > start:
        head -= 1
    plain = not match["joined"] and not match["relative"]
    plural = True if match["joined"] else _is_plural(tokens, letters, start, head)
    return Clause(text, tokens, letters, start, ends, head, plain, plural, finite, end)


def _check_subject(clause: Clause) -> None:
    """Raise ``Skipped`` if the subject may end elsewhere or may not be a subject."""
    start, verb = clause.subject_start, clause.verb
    unsure = (
        any(clause.word(i) in SETS["either"] for i in range(clause.head, clause.subject_end))
        or any(clause.word(i) in SETS["links"] for i in range(min(start, 4)))
        or (start == 0 and clause.word(0) in SETS["orders"])
        or (verb.word[0].isupper() and clause.letters[start] != "x")
        or (clause.kind == "F" and clause.letter(clause.subject_end - 1) in ("G", "P"))
    )
    # 'Exception raised when …' has no finite verb.
    bare = clause.letter(start) in "NAG" and clause.tokens[clause.head].tag == "NN1"
    heading = bare and verb.tag == "VVD" and verb.lower.endswith("ed")
    if unsure or (heading and clause.letter(clause.finite + 1) not in tuple("DdRV")):
        raise Skipped(SkipReason.UNCLEAR)


def _is_plural(tokens: list[TaggedWord], letters: str, start: int, head: int) -> bool | None:
    word, found = tokens[head].lower, tokens[head].tag
    if word in SETS["plural_words"]:
        return True
    if word in SETS["singular_words"] or found == "PNI":
        return False
    if letters[head] == "N" and tokens[start].lower in ("a", "an", "every", "each"):
        return False
    return {"NN2": True, "NN1": False}.get(found)


def _check_agreement(clause: Clause) -> None:
    """Raise ``Skipped`` if the verb does not agree with the subject: one of the two is wrong."""
    found = clause.verb.tag
    if clause.word(clause.head) == "i" and found in ("VBB", "VHB", "VVB", "VDB", "VVI"):
        return
    singular, plural = found.endswith("Z"), found in ("VBB", "VHB", "VDB", "VVB", "VVI")
    disagrees = (singular and clause.plural is True) or (plural and clause.plural is False)
    unsure = clause.kind == "F" and clause.plural is None and (plural or not clause.plain)
    if disagrees or unsure:
        raise Skipped(SkipReason.UNCLEAR)


def _stray_verb(clause: Clause, *, joined: bool) -> int | None:
    """The next finite verb without a conjunction; with ``joined``, 'and' counts as one."""
    opened = False
    letters = clause.letters
    for i in range(clause.finite + 1, clause.end):
        letter = letters[i]
        if letter in "SW":
            opened = True
        elif letter == "C":
            opened = joined and letters[i - 1] != "," and clause.word(i) != "but"
        elif letter == "R" and clause.word(i) in SETS["plural_words"] | {"he", "she", "it"}:
            opened = opened or letters[i - 1] in "NRF"
        elif letter in FINITE:
            if not opened:
                return i
            opened = False
    return None


def _shares_subject(clause: Clause, position: int) -> bool:
    """Whether a second verb has the same form and subject: 'sat down and read a book'."""
    if clause.kind != "F" or position != clause.second_verb or clause.tail.count("C") > 1:
        return False
    conjunction = position - 1 - (clause.letters[position - 1] == "V")
    second = clause.tokens[position]
    return (
        clause.word(conjunction) == "and"
        and clause.letters[conjunction - 1] != ","
        and second.tag == clause.verb.tag
        and not set("SW,") & set(clause.letters[clause.finite : position])
        and not set(FINITE) & set(clause.letters[position + 1 : clause.end])
    )
