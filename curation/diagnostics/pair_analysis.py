"""What a variant changes in its anchor: negators, affixes, content words, and hedge frames.

A hedge puts a frame around the claim: "I'm not sure, but P", "It isn't clear whether P", "P, though
that's far from certain". A negator in the frame negates the frame's own verb, not the claim, so the
checks ignore it. Frames are found from the alignment: they are stretches added before, after or
between the anchor's words, linked to them by a conjunction or by a word of certainty that the
anchor does not use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from curation.language.negation import Negator, find_negators, known_antonyms, negative_affix
from curation.language.tokens import (
    ABSOLUTE_NEGATORS,
    Analysis,
    align,
    analyse,
    is_content,
    load_lexicon,
    stem,
    word_sets,
)

EPISTEMIC = frozenset(
    stem(word)
    for word in load_lexicon(Path(__file__).with_name("epistemic_words.json"))["epistemic"]
)
"""The stems of words of certainty."""

_REVERSING_WORDS = word_sets(Path(__file__).with_name("reversing_words.json"))["reversing"]
_REVERSING = frozenset(stem(word) for word in _REVERSING_WORDS)
_CONCESSIVE = frozenset({"but", "though", "although", "yet"})
_COMPLEMENTIZERS = frozenset({"that", "if", "whether"})
_BREAKS = frozenset({",", ";", ":", "(", ")", "–", "—", "…", "--"})
_NON_FINITE = frozenset({"to", "for", "of", "about", "above", "in", "on"})
_SURE_TO = (["sure", "to"], ["certain", "to"], ["likely", "to"], ["guaranteed", "to"])
_QUANTIFIED_SUBJECTS = frozenset("nobody none nothing no-one neither never nowhere".split())
_PRONOUNS = frozenset({"nobody", "no one", "no-one", "none", "nothing"})
_IN_PRONOUNS = frozenset(
    "people person persons man woman thing things half majority two three four five six seven"
    " eight nine ten dozen dozens hundreds thousands plenty lot lots".split()
)
_FRAME_REACH = 4
"""Maximum words between a negator and its word of certainty ("can't *really say for* sure")."""

# Pairs of words whose exchange reverses a predicate although neither is a content word.
_ANTONYMS = frozenset(
    frozenset(pair.split())
    for pair in (
        "on off",
        "in out",
        "up down",
        "with without",
        "for against",
        "before after",
        "to from",
        "over under",
        "inside outside",
        "above below",
        "into from",
        "many few",
        "more less",
        "most few",
        "into off",
        "onto off",
        "same other",
        "within beyond",
        "within outside",
        "over through",
        "by against",
        "well badly",
        "all few",
        "enough too",
        "much little",
    )
)


class PairAnalysis:
    """The differences between an anchor and a text. Each is computed once, when first needed."""

    def __init__(self, *, anchor: str, text: str) -> None:
        self.anchor = analyse(anchor)
        self.text = Analysis(text)

    @cached_property
    def origin(self) -> list[int | None]:
        """For each token of the text, the index of the anchor token that it copies."""
        return align(self.anchor, self.text)

    @cached_property
    def _kept_content(self) -> list[int]:
        """Tokens of the text that copy an anchor's content word in place."""
        return [i for i in self.text.content if self.origin[i] is not None]

    # -- hedge frames ---------------------------------------------------------------------------

    @cached_property
    def frame(self) -> frozenset[int]:
        """Tokens of the text that belong to a frame around the claim."""
        if not self._kept_content:
            return frozenset()
        framed: set[int] = set()
        for first, end in self._stretches():
            framed.update(self._framed_in(first, end))
        return frozenset(framed)

    def _stretches(self) -> Iterator[tuple[int, int]]:
        """Yield (first, end) of the stretches between content words copied from the anchor."""
        edges = [-1, *self._kept_content, len(self.text.words)]
        for left, right in pairwise(edges):
            if right - left > 1:
                yield left + 1, right

    def _is_new_epistemic(self, i: int) -> bool:
        """Whether a token is a word of certainty that is unrelated to the anchor's words."""
        if self.text.stems[i] not in EPISTEMIC or self.origin[i] is not None:
            return False
        # The claim itself may be about certainty and have changed ('know' to 'no idea').
        is_replaced = any(stem(word) in EPISTEMIC for word in self.lost)
        return not is_replaced and not self.anchor.has_relative(self.text.words[i])

    def _framed_in(self, first: int, end: int) -> Iterable[int]:
        """Return the tokens of one stretch that belong to a frame."""
        words = self.text.words
        added = [i for i in range(first, end) if self.origin[i] is None]
        negators = [
            i for i in added if words[i] in ("not", *ABSOLUTE_NEGATORS) or words[i] == "far"
        ]
        certain = [i for i in added if self._is_new_epistemic(i)]
        if not added or not (certain or negators):
            return ()
        if first == 0:
            return self._leading_frame(added, certain)
        if end == len(words):
            return self._trailing_frame(added, certain)
        return self._inner_frame(first, end, added, certain)

    def _leading_frame(self, added: list[int], certain: list[int]) -> Iterable[int]:
        """Match "I'm not sure, but P", "It isn't clear whether P", "I doubt P": up to the claim."""
        words = self.text.words
        concessive = [i for i in added if words[i] in _CONCESSIVE and words[i - 1] != "anything"]
        linked = [i for i in added if words[i] in _COMPLEMENTIZERS]
        if concessive:
            return range(max([concessive[-1], *certain[-1:]]) + 1)
        subject = words[added[0]] if words[1:2] != ["one"] else "no-one"
        if not certain or subject in _QUANTIFIED_SUBJECTS:
            return ()  # "Nobody thinks that P" denies P; "At no point did P" has no frame
        if not linked and (self.lost or words[certain[-1] + 1] in _NON_FINITE):
            return ()  # "It is not impossible to P" breaks up the claim
        return range(max([certain[-1], *linked]) + 1)

    def _trailing_frame(self, added: list[int], certain: list[int]) -> Iterable[int]:
        """Match "P, though I'm not sure", "P, or so it seems": from the conjunction or comma on."""
        words = self.text.words
        starts = [i for i in added if words[i] in _CONCESSIVE or words[i] in _BREAKS]
        if starts and (certain or any(words[i] in _CONCESSIVE for i in starts)):
            return range(starts[0], len(words))
        return ()

    def _inner_frame(
        self, first: int, end: int, added: list[int], certain: list[int]
    ) -> Iterable[int]:
        """Match "P, though this is not certain, Q" between breaks, or "is not necessarily P"."""
        words = self.text.words
        breaks = [i for i in range(first, end) if words[i] in _BREAKS]
        if len(breaks) >= 2 and (certain or any(words[i] in _CONCESSIVE for i in added)):
            return range(breaks[0], breaks[-1] + 1)
        framed: list[int] = []
        for i in added:
            if words[i] == "not":
                reach = [
                    j
                    for j in certain
                    if i < j <= i + _FRAME_REACH
                    and (words[j].endswith("ly") or words[j : j + 2] in _SURE_TO)
                ]
                framed.extend(range(i, reach[0] + 1) if reach else ())
        return framed

    # -- negators and affixes -------------------------------------------------------------------

    @cached_property
    def _negators(self) -> tuple[list[Negator], list[Negator]]:
        """The negators of the anchor and of the text."""
        return find_negators(self.anchor), find_negators(self.text)

    def new_negators(self, *, main_clause: bool) -> list[Negator]:
        """Return the negators that the text has beyond those of the anchor, class by class."""
        of_anchor, found = self._negators
        spare = Counter(negator.kind for negator in of_anchor)
        if main_clause:
            found = [negator for negator in found if negator.first not in self.frame]
        new: list[Negator] = []
        for negator in sorted(found, key=lambda n: self.origin[n.first] is None):
            if spare[negator.kind] > 0:
                spare[negator.kind] -= 1
            else:
                new.append(negator)
        return sorted(new, key=lambda n: n.first)

    def new_affixes(
        self,
        *,
        main_clause: bool,
        prefixes: tuple[str, ...] = (),
        suffixes: tuple[str, ...] = (),
    ) -> list[tuple[int, int, int]]:
        """Return (token, start, end) of each word with a negative affix that the anchor lacks.

        start and end are offsets within the word.
        """
        known = set(self.anchor.stems)
        found: list[tuple[int, int, int]] = []
        for i, word in enumerate(self.text.words):
            if self.text.stems[i] in known or not is_content(word):
                continue
            if main_clause and (i in self.frame or self._is_frame_word(i)):
                continue
            span = negative_affix(
                word,
                anchor_words=self.anchor.content_words,
                prefixes=prefixes,
                suffixes=suffixes,
            )
            if span:
                found.append((i, *span))
        return found

    def _is_frame_word(self, i: int) -> bool:
        """Whether a word only says how certain a whole claim is ("P is unlikely")."""
        following = self.text.words[i + 1 : i + 2]
        return (
            self._is_new_epistemic(i) and not self.lost and not _NON_FINITE.intersection(following)
        )

    # -- content words --------------------------------------------------------------------------

    @cached_property
    def lost(self) -> list[str]:
        """The anchor's content words that the text does not keep in any form."""
        stems, text = set(self.text.stems), self.text
        return [
            word
            for word in self.anchor.content_words
            if stem(word) not in stems and not text.has_relative(word)
        ]

    @cached_property
    def lost_to_pronoun(self) -> list[str]:
        """The lost words that 'nobody' or 'nothing' replaces: 'The team won' becomes 'Nobody won'.

        The pronoun includes words for people or things in general, and replaces numbers and
        quantities.
        """
        lost, words = set(self.lost) - _IN_PRONOUNS, self.text.words
        edges = [(-1, -1), *((i, j) for i, j in enumerate(self.origin) if j is not None)]
        edges.append((len(words), len(self.anchor.words)))
        found: list[str] = []
        for (i, j), (next_i, next_j) in pairwise(edges):
            if " ".join(words[i + 1 : next_i]) in _PRONOUNS:
                found += [word for word in self.anchor.words[j + 1 : next_j] if word in lost]
        return found

    @cached_property
    def added(self) -> list[str]:
        """The text's content words that the anchor lacks, outside frames and hedging words."""
        stems = set(self.anchor.stems)
        candidates = {
            self.text.stems[i]: self.text.words[i]
            for i in self.text.content
            if i not in self.frame and not self._is_new_epistemic(i)
        }
        return [
            word
            for key, word in candidates.items()
            if key not in stems and not self.anchor.has_relative(word)
        ]

    @cached_property
    def turned_particle(self) -> bool:
        """Whether a particle or quantifier becomes its opposite ('switched on' becomes 'off')."""
        kept = {i for i in self.origin if i is not None}
        gone = {w for j, w in enumerate(self.anchor.words) if j not in kept}
        come = {w for i, w in enumerate(self.text.words) if self.origin[i] is None}
        return any(frozenset({one, other}) in _ANTONYMS for one in gone for other in come - gone)

    @cached_property
    def reversed_by(self) -> list[str]:
        """The new words that reverse a predicate without replacing it ('lacks a driver')."""
        known = set(self.anchor.stems)
        found = {
            word: None
            for i, word in enumerate(self.text.words)
            if i not in self.frame
            and self.text.stems[i] not in known
            and self._reverses(i)
            and not self._is_frame_word(i)
            and not self.anchor.has_relative(word)
        }
        return list(found)

    def _reverses(self, i: int) -> bool:
        word = self.text.words[i]
        if not is_content(word):
            return word in _REVERSING_WORDS  # 'beyond', but not 'quite' for 'quit'
        return self.text.stems[i] in _REVERSING or negative_affix(word) is not None

    @property
    def content_replaced(self) -> bool:
        """Whether part of the predicate was replaced or reversed by another word."""
        return bool(self.lost) or self.turned_particle or bool(self.reversed_by)

    @cached_property
    def antonyms(self) -> list[str]:
        """The new content words that are known antonyms of lost ones ('polite' becomes 'rude')."""
        gone = {stem(word) for word in self.lost}
        return [word for word in self.added if gone & known_antonyms(word)]

    @property
    def content_reversed(self) -> bool:
        """Whether the predicate was reversed rather than reworded."""
        return self.turned_particle or bool(self.reversed_by or self.antonyms)

    @property
    def content_exchanged(self) -> bool:
        """Whether other content replaces some of the anchor's, as opposed to mere loss."""
        return self.turned_particle or bool(self.reversed_by) or bool(self.lost and self.added)

    @property
    def content_kept(self) -> float:
        """The share of the anchor's distinct content words that the text keeps, in [0, 1]."""
        total = len(self.anchor.content_words)
        return 1 - len(self.lost) / total if total else 1.0
