"""Ineffective hedges: unhedged claims after a concession, and reports of what others say.

"I'm not sure why, but the ferry leaves at nine" concedes something else and then asserts the claim.
"Critics suspect that it leaves at nine" reports what others believe. These are word-based
heuristics that direct a reviewer to the sentence. They do not flag cases that the guideline leaves
open ("I'm not sure, but …").
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from curation.diagnostics.pair_analysis import EPISTEMIC, PairAnalysis
from curation.language.tokens import lemma, stem, word_sets

_WORDS = word_sets(Path(__file__).with_name("hedging.json"))
_IMPRESSION = frozenset(lemma(word) for word in _WORDS["impression"])
_NOUN_STARTS = _WORDS["determiners"] | _WORDS["pronouns"]
_MARKS = frozenset({",", ";", ":", ".", "–", "—", "--", "…", "!", "(", ")"})

_REPORTS = frozenset(lemma(word) for word in _WORDS["reports"])
_SHOWS = frozenset(lemma(word) for word in _WORDS["shows"])
_CLAUSE_STARTS = frozenset({*_MARKS, "but", "that", "though", "although", "while", "and", "as"})
_GOVERNED = frozenset({"that", "if", "whether", "so", ",", ":", "."})


class _Insertion(NamedTuple):
    """The single stretch that a text adds to its anchor, and whether the anchor continues after."""

    words: list[str]
    leading: bool
    trailing: bool


def is_flat_hedge(comparison: PairAnalysis) -> bool:
    """Whether the text is the unchanged anchor plus a concession that does not weaken it.

    A concession about how sure the writer is of this very claim ("I'm not sure, but …", "…, though
    that's not certain") is left to the reviewer.
    """
    insertion = _insertion(comparison)
    concession = _concession(insertion) if insertion else None
    if not insertion or not concession:
        return False
    if _WORDS["own"].intersection(concession):
        certainty = _WORDS["certainty"] if insertion.leading else EPISTEMIC | _WORDS["certainty"]
        return not _is_about_claim(concession, certainty)
    if insertion.trailing or not insertion.leading:
        if any(word in _WORDS["elliptic"] for word in concession):
            return False
        # It may state the impression that a claim makes ("it may seem odd"), not how sure it is.
        impression = any(lemma(word) in _IMPRESSION for word in concession)
        is_impression = impression and not _WORDS["doubt"].intersection(concession)
        if _WORDS["anaphors"].intersection(concession) and not is_impression:
            return not _is_about_claim(concession, EPISTEMIC | _WORDS["doubt"])
    return True


def _without_end(words: Sequence[str]) -> list[str]:
    end = len(words)
    while end and words[end - 1] in _MARKS:
        end -= 1
    return list(words[:end])


def _insertion(comparison: PairAnalysis) -> _Insertion | None:
    anchor, text = _without_end(comparison.anchor.words), _without_end(comparison.text.words)
    added = len(text) - len(anchor)
    if added <= 0 or not anchor:
        return None
    for start in range(len(anchor) + 1):
        if text[start + added :] == anchor[start:]:
            words = text[start : start + added]
            return _Insertion(words, leading=start == 0, trailing=start == len(anchor))
        if start < len(anchor) and text[start] != anchor[start]:
            return None
    return None


def _concession(insertion: _Insertion) -> list[str] | None:
    """Return a concession's words without its conjunction; None if it is not a concession."""
    words = _without_end(insertion.words)
    while words and words[0] in _MARKS:
        words = words[1:]
    if not words:
        return None
    if words[0] in _WORDS["openers"]:
        # "Although it is odd, I think …": the words after the clause hedge the claim.
        ends = insertion.trailing or insertion.words[-1] in _MARKS
        return words if ends and (insertion.leading or words[1:]) else None
    if words[1:2] and words[1] in ("as", "though") and _WORDS["anaphors"].intersection(words[2:3]):
        return words  # "Strange as it seems"
    if insertion.trailing:
        return words if words[0] in _WORDS["links"] or words[-1] in ("though", "however") else None
    core = [word for word in words if word not in _WORDS["adverbs"]] or words
    if core[-1] in _WORDS["links"] and words[-1] in _WORDS["links"] | _WORDS["adverbs"]:
        return core[:-1]
    return words[:-1] if words[-1] in _WORDS["adverbs"] and words[-2:-1] != ["but"] else None


def _is_about_claim(words: Sequence[str], certainty: frozenset[str]) -> bool:
    """Whether a concession doubts the claim: "not sure (of it)", but not "not sure why"."""
    at = [i for i, word in enumerate(words) if word in certainty or stem(word) in certainty]
    if not at or _WORDS["wh"].intersection(words):
        return False
    rest = [word for word in words[at[-1] + 1 :] if not word.endswith("ly")]
    asked = next((i for i, word in enumerate(words) if word in ("if", "whether")), None)
    if asked is not None:  # "no idea if this is right", "correct me if I'm wrong"
        return bool(_WORDS["true"].intersection(words[asked:]))
    if rest[:1] and rest[0] in _WORDS["prepositions"]:
        rest = rest[1:]
        return not rest or rest[0] in _WORDS["anaphors"] or rest[0] not in _NOUN_STARTS
    if rest[:1] and rest[0] in _NOUN_STARTS:
        return bool(_WORDS["recall"].intersection(rest))
    return True


def reports_others(comparison: PairAnalysis) -> bool:
    """Whether the text reports what others say: "Critics suspect that", "according to".

    Adverbs ("reportedly") and passives ("is said to") name nobody and make the writer commit to
    less; the guideline accepts them.
    """
    words, origin = comparison.text.words, comparison.origin
    return any(
        origin[i] is None and (_is_source(words, i) or _is_others_verb(comparison, i))
        for i in range(len(words))
    )


def _is_source(words: Sequence[str], i: int) -> bool:
    if words[i] == "according":
        return words[i + 1 : i + 2] == ["to"] and words[i + 2 : i + 3] not in (["me"], ["us"])
    held = words[i] in ("opinion", "view")
    return held and words[i - 1] in ("'s", "his", "her", "their") and i > 0


def _is_others_verb(comparison: PairAnalysis, i: int) -> bool:
    words = comparison.text.words
    word, base = words[i], lemma(words[i])
    subject = _subject(words, i)
    if not subject or _WORDS["no_subject"].intersection(subject):
        return False
    before = next((w for w in reversed(words[:i]) if not w.endswith("ly")), "")
    if word in _WORDS["sure"]:
        return words[i + 1 : i + 2] != ["to"] and bool(_WORDS["be"].intersection(subject))
    if base not in _REPORTS and not (base in _SHOWS and _WORDS["people"].intersection(subject)):
        return False
    if before in _WORDS["determiners"] or before in _WORDS["prepositions"]:
        return False  # a noun, or an infinitive
    if word.endswith("ing"):
        return before in _WORDS["be"] or before in ("keep", "kept", "keeps")
    following = words[i + 1] if i + 1 < len(words) else "."
    governs = following in _GOVERNED | _NOUN_STARTS or comparison.origin[i + 1] is not None
    return before not in _WORDS["be"] and governs


def _subject(words: Sequence[str], i: int) -> list[str]:
    """Return the words before a verb in its clause, or the preceding clause if there are none."""
    end = i
    while end > 0:
        start = end
        while start > 0 and words[start - 1] not in _CLAUSE_STARTS:
            start -= 1
        if start < end:
            return list(words[start:end])
        end -= 1
    return []
