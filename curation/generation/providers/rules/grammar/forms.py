"""English verb forms: base, past and participle, from a list of irregular verbs and rules."""

import re
from functools import lru_cache

from curation.generation.providers.rules.grammar.word_lists import WORDS
from curation.language.tagging import is_known, verb_lemma

_IRREGULAR: dict[str, tuple[str, str]] = {
    line.split()[0]: (line.split()[1], line.split()[2]) for line in WORDS["irregular_verbs"]
}
_BASE_OF_PAST: dict[str, list[str]] = {}
_BASE_OF_PARTICIPLE: dict[str, list[str]] = {}
for _base, (_past, _participle) in _IRREGULAR.items():
    for _form in _past.split("/"):
        _BASE_OF_PAST.setdefault(_form, []).append(_base)
    for _form in _participle.split("/"):
        _BASE_OF_PARTICIPLE.setdefault(_form, []).append(_base)

_DOUBLED_LATE = frozenset(WORDS["doubling_verbs"])
_CVC = re.compile(r"^[^aeiou]*(?:qu)?[aeiou][^aeiouwxy]$")


def _ed(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if re.search(r"[^aeiou]y$", base):
        return base[:-1] + "ied"
    if _CVC.match(base) or base in _DOUBLED_LATE:
        return base + base[-1] + "ed"
    return base + "ed"


def past(base: str) -> str:
    """'plan': 'planned', 'go': 'went'."""
    return _IRREGULAR[base][0].split("/")[0] if base in _IRREGULAR else _ed(base)


def participle(base: str) -> str:
    """'plan': 'planned', 'go': 'gone'."""
    return _IRREGULAR[base][1].split("/")[0] if base in _IRREGULAR else _ed(base)


def third(base: str) -> str:
    """'go': 'goes', 'try': 'tries'."""
    if re.search(r"(s|x|z|ch|sh|o)$", base):
        return base + "es"
    return base[:-1] + "ies" if re.search(r"[^aeiou]y$", base) else base + "s"


@lru_cache(maxsize=16_384)
def base_of(word: str, tag: str) -> str:
    """Return the base of a finite lexical verb; '' if it is uncertain.

    Args:
        tag: VVB or VVI, VVZ, VVD, VVN.
    """
    word = word.lower()
    if tag in ("VVB", "VVI"):
        return word
    known = {"VVD": _BASE_OF_PAST, "VVN": _BASE_OF_PARTICIPLE}.get(tag, {}).get(word, [])
    if len(known) == 1:
        return known[0]
    guess = verb_lemma(word, tag)
    if known:
        return guess if guess in known else ""
    form = {"VVZ": third, "VVD": past, "VVN": participle}[tag]
    # Unless both methods agree, the spelling of the base is a guess. British 'travelled' is fine.
    candidates = (guess, guess + "e", guess[:-1])
    fitting = [base for base in candidates if base and form(base) == word]
    if len(fitting) > 1:  # 'souped': 'soup' or 'soupe'?
        fitting = [base for base in fitting if is_known(base)]
    if fitting:
        return fitting[0]
    if tag != "VVZ" and word.endswith(("lled", "pped")) and guess == word[:-3]:
        return guess
    return ""
