"""Families from a list of opposites, for words and phrases that the data have no variant of.

An encoder that has learnt from a thousand families what 'not' does still errs where it doesn't know
that two predicates are opposites (docs/recipe_search.md). The list says so for some thousands, in
whole sentences and as words. Of those, families are made by rule: plain ones, and often odd where a
word is put into a sentence of the data, but what contradicts what is beyond doubt. Hedges and
absolute negations of whole sentences are what the provider 'rules' would write. Beside them are
families of statements that were affirmed, weakened and contradicted in free words.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from curation.generation.providers.rules import write_by_rule
from curation.generation.providers.rules.frames import frames_of
from curation.generation.providers.rules.grammar.clause import Skipped
from curation.generation.providers.rules.grammar.first_word import lowered_opening
from curation.generation.providers.rules.grammar.forms import past
from curation.generation.providers.rules.grammar.main_clause import read_statement
from curation.generation.providers.rules.hedges import placeable
from curation.language import opposites
from curation.taxonomy.built_in import variant_type
from training.data.claims import Stance, stances
from training.finetune.losses import Family, Member, Role

FILE = Path(__file__).with_name("antonym_sentences.txt")

NEGATED, OPPOSITE, PARAPHRASE, HEDGED = "verbal", "lexical", "negated_antonym", "word"
"""The variant types that the members of a family are of, or come nearest to: what affirms, weakens
or denies a sentence as a whole counts as a paraphrase, a hedge and a negation."""

ABSOLUTE, PHRASE = "absolute", "phrase"

SHARE_IN_SENTENCES = 0.5
"""Of the families of qualities that are made in sentences of the data, where there are any."""

SHARE_WITH_SECOND = 0.3
SHARE_HEDGED = 0.3

SHARES_BY_RULE = {HEDGED: 0.5, PHRASE: 0.25, ABSOLUTE: 0.25}
"""Of the families of sentences, those with a hedge that uses a cue of the paper's lists, and with
an absolute negation, where the rules can write them."""

SHARES_FRAMED = {"emphases": 0.35, "reservations": 0.2, "denials": 0.2}
"""Of the families, those with 'There is no doubt that …', 'It may be that …', 'It is not true
that …'; so what negates an emphasis is not taken for what negates the sentence."""

_FRAMES_OF = {
    "emphases": ("affirmation",),
    "reservations": ("free_hedge", "unsupported"),
    "denials": ("absolute",),
}
"""The types whose frames the provider 'rules' has, too, by the lists that they add to."""

_FRAMED = {
    "emphases": (Role.PARAPHRASE, PARAPHRASE),
    "reservations": (Role.HEDGE, HEDGED),
    "denials": (Role.NEGATION, NEGATED),
}

TEXTS_OF_A_STANCE = 5
"""That are drawn of its seven."""

SENTENCES = "sentences"

_QUALITY = re.compile(r"\b(?:is|are|was|were) (\w+)")


class AntonymPair(NamedTuple):
    """Words of one meaning, and words of the opposite one.

    Attributes:
        kind: 'quality' (stands behind 'is'), 'transitive' or 'intransitive' (verbs, base form).
    """

    kind: str
    one: tuple[str, ...]
    other: tuple[str, ...]


class Sentence(NamedTuple):
    """A sentence as it is, negated, with an opposite predicate, and with that one negated."""

    anchor: str
    negated: str
    opposite: str
    paraphrase: str


class Frame(NamedTuple):
    """A sentence of the data and its variants, each before and after the quality it has."""

    anchor: tuple[str, str]
    negated: tuple[str, str]
    hedged: tuple[str, str] | None


@cache
def _lists() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(opposites.FILE.read_text(encoding="utf-8"))
    return content


@cache
def pairs() -> tuple[AntonymPair, ...]:
    """The list, in its order. In its file '_' stands for a blank within a word."""
    return tuple(
        AntonymPair(
            kind, *(tuple(word.replace("_", " ") for word in side.split()) for side in sides)
        )
        for kind, lines in _lists()["pairs"].items()
        for line in lines
        if len(sides := line.split("|")) == 2
    )


@cache
def sentences() -> tuple[Sentence, ...]:
    """The sentences of the list: a subject and four predicates a line."""
    found = []
    for line in FILE.read_text(encoding="utf-8").splitlines():
        subject, *predicates = line.split(" | ")
        found.append(Sentence(*(f"{subject} {predicate}." for predicate in predicates)))
    return tuple(found)


class Opposites:
    """Draws families by the seed and the step alone."""

    def __init__(
        self,
        families: Sequence[Family],
        *,
        count: int,
        seed: int,
        stances: int = 0,
        without: Collection[str] = (),
    ) -> None:
        """Take families of the data, whose sentences are used; in an order that is always the same.

        Args:
            count: families a step.
            stances: further ones, of statements affirmed, weakened and contradicted.
            without: types that are left out, by id.
        """
        self._count, self._seed, self._without = count, seed, frozenset(without)
        self._stances = stances
        qualities = {
            word for pair in pairs() if pair.kind == "quality" for word in pair.one + pair.other
        }
        self._frames = [frame for family in families for frame in frames(family, qualities)]
        by_kind: dict[str, list[AntonymPair]] = {}
        for pair in pairs():
            by_kind.setdefault(pair.kind, []).append(pair)
        self._by_kind = by_kind
        counts = {kind: len(found) for kind, found in by_kind.items()} | {
            SENTENCES: len(sentences())
        }
        # The fewer verbs would hardly be drawn by their number alone.
        self._weights = {kind: count**0.75 for kind, count in counts.items()}

    def of(self, step: int) -> list[Family]:
        """Of the step with this number."""
        chance = random.Random(f"{self._seed}:opposites:{step}")
        made = [self._family(chance) for _ in range(self._count)]
        if self._stances:
            drawn = chance.sample(stances(), min(self._stances, len(stances())))
            made += [[m for m in _of_stance(s, chance) if self._wanted(m)] for s in drawn]
        return [family for family in made if _compares(family)]

    def framed(self, families: Sequence[Family], step: int) -> list[Family]:
        """The data's families of this step, their anchors affirmed, weakened or denied likewise."""
        chance = random.Random(f"{self._seed}:framed:{step}")
        return [
            [*family, *(m for m in _framed(family[0].text, chance) if self._wanted(m))]
            for family in families
        ]

    def _wanted(self, member: Member) -> bool:
        return member.type_id not in self._without

    def _family(self, chance: random.Random) -> Family:
        (kind,) = chance.choices(list(self._weights), list(self._weights.values()))
        members = [*self._members(kind, chance)]
        members += _framed(members[0].text, chance)
        distinct: dict[str, Member] = {}  # a hedge by rule may be worded as a framed one is
        for member in members:
            distinct.setdefault(member.text, member)
        return [member for member in distinct.values() if self._wanted(member)]

    def _members(self, kind: str, chance: random.Random) -> Iterator[Member]:
        if kind == SENTENCES:
            return _of_sentence(chance.choice(sentences()), chance)
        pair = chance.choice(self._by_kind[kind])
        sides = [pair.one, pair.other]
        chance.shuffle(sides)
        word = chance.choice(sides[0])
        count = 2 if chance.random() < SHARE_WITH_SECOND else 1
        others = chance.sample(sides[1], min(count, len(sides[1])))
        if kind == "quality":
            return _of_quality(word, others, self._frames, chance)
        return _of_verb(kind, word, others, chance)


def _compares(family: Family) -> bool:
    roles = {member.role for member in family}
    return Role.NEGATION in roles and len(roles) > 2


def frames(family: Family, qualities: Collection[str]) -> Iterator[Frame]:
    """The sentences of a family with a place for a quality.

    Those whose verbal negation has the same quality in it once, and differs elsewhere.
    """
    anchor, *variants = family
    texts: dict[str, str] = {}
    for member in variants:
        texts.setdefault(member.type_id, member.text)
    negated, hedged = texts.get(NEGATED, ""), texts.get(HEDGED, "")
    for word in _QUALITY.findall(anchor.text):
        around, other = _around(anchor.text, word), _around(negated, word)
        if word in qualities and around and other and around != other:
            yield Frame(around, other, _around(hedged, word))


def _around(text: str, word: str) -> tuple[str, str] | None:
    """What is before a word that the text has once, and after it."""
    parts = re.split(rf"\b{re.escape(word)}\b", text)
    return (parts[0], parts[1]) if len(parts) == 2 else None


def _of_quality(
    word: str, others: Sequence[str], found: Sequence[Frame], chance: random.Random
) -> Iterator[Member]:
    frame = (
        chance.choice(found)
        if found and chance.random() < SHARE_IN_SENTENCES
        else _plain_frame(chance)
    )
    yield Member(_filled(frame.anchor, word), Role.ANCHOR)
    yield Member(_filled(frame.negated, word), Role.NEGATION, NEGATED)
    for other in others:
        yield Member(_filled(frame.anchor, other), Role.NEGATION, OPPOSITE)
        yield Member(_filled(frame.negated, other), Role.PARAPHRASE, PARAPHRASE)
    if frame.hedged and chance.random() < SHARE_HEDGED:
        yield Member(_filled(frame.hedged, word), Role.HEDGE, HEDGED)


def _filled(around: tuple[str, str], word: str) -> str:
    return word.join(around)


def _plain_frame(chance: random.Random) -> Frame:
    """'It is …', "It isn't …", 'It is possibly …'."""
    subject, verb = chance.choice(_lists()["subjects"]).rsplit(" ", 1)
    negated = chance.choice((f"{verb} not", f"{verb}n't", f"{verb}n't"))
    hedge = chance.choice(_lists()["hedges"])
    return Frame(
        (f"{subject} {verb} ", "."),
        (f"{subject} {negated} ", "."),
        (f"{subject} {verb} {hedge} ", "."),
    )


def _of_sentence(sentence: Sentence, chance: random.Random) -> Iterator[Member]:
    """Either of the two predicates that have no negator may be the anchor's."""
    anchor, negated, opposite, paraphrase = sentence
    if chance.random() < 0.5:
        anchor, negated, opposite, paraphrase = opposite, paraphrase, anchor, negated
    yield Member(anchor, Role.ANCHOR)
    yield Member(negated, Role.NEGATION, NEGATED)
    yield Member(opposite, Role.NEGATION, OPPOSITE)
    yield Member(paraphrase, Role.PARAPHRASE, PARAPHRASE)
    yield from _by_rule(anchor, chance)


def _of_stance(stance: Stance, chance: random.Random) -> Iterator[Member]:
    denied, opposite = stance.contradicted
    yield Member(stance.statement, Role.ANCHOR)
    yield Member(chance.choice(stance.affirmed), Role.PARAPHRASE, PARAPHRASE)
    yield Member(chance.choice(stance.weakened), Role.HEDGE, HEDGED)
    yield Member(denied, Role.NEGATION, NEGATED)
    yield Member(opposite, Role.NEGATION, OPPOSITE)


def _by_rule(anchor: str, chance: random.Random) -> Iterator[Member]:
    wanted = [type_id for type_id, share in SHARES_BY_RULE.items() if chance.random() < share]
    cues = {type_id: chance.choice(placeable(type_id)) for type_id in wanted if type_id != ABSOLUTE}
    written = write_by_rule(anchor, types=[variant_type(name) for name in wanted], cues=cues)
    for type_id, text in written.texts.items():
        yield Member(text, Role.NEGATION if type_id == ABSOLUTE else Role.HEDGE, type_id)


def _framed(anchor: str, chance: random.Random) -> Iterator[Member]:
    """The anchor affirmed, weakened or denied as a whole, each now and then."""
    for name, share in SHARES_FRAMED.items():
        if chance.random() < share:
            frame = chance.choice(_frames(name))
            statement = anchor[:-1] if frame.startswith("{}") else _inside(anchor)
            if statement and anchor.endswith("."):
                text = frame.format(statement)
                yield Member(text if text.endswith("?") else f"{text}.", *_FRAMED[name])


@cache
def _frames(name: str) -> list[str]:
    return [*_lists()[name], *(frame for key in _FRAMES_OF[name] for frame in frames_of(key))]


def _inside(anchor: str) -> str | None:
    """A statement as it stands inside a sentence; None where its first word may be a name."""
    try:
        first = lowered_opening(read_statement(anchor))
    except Skipped:
        return None
    return first and f"{first}{anchor[len(first) : -1]}"


def _of_verb(
    kind: str, word: str, others: Sequence[str], chance: random.Random
) -> Iterator[Member]:
    lists = _lists()
    subject = chance.choice(lists["persons" if kind == "transitive" else "agents"])
    rest = f" {chance.choice(lists['objects'])}." if kind == "transitive" else "."
    negator = chance.choice(("did not", "didn't"))
    yield Member(f"{subject} {_past(word)}{rest}", Role.ANCHOR)
    yield Member(f"{subject} {negator} {word}{rest}", Role.NEGATION, NEGATED)
    for other in others:
        yield Member(f"{subject} {_past(other)}{rest}", Role.NEGATION, OPPOSITE)
        yield Member(f"{subject} {negator} {other}{rest}", Role.PARAPHRASE, PARAPHRASE)


def _past(verb: str) -> str:
    """'gave in to' for 'give in to'."""
    head, *particles = verb.split()
    return " ".join((past(head), *particles))
