"""Giveaways: whether a variant alone, without its anchor, betrays its side.

A linear classifier reads the words of the variants and guesses their polarity and their type. It
never sees an anchor, and it is tested on variants of anchors that it was not trained on. What it
guesses well can be learned without comparing two sentences. Poliak et al. (2018) and Gururangan et
al. (2018) found such artefacts in corpora of natural language inference.
"""

import re
import time
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, and_, case, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.diagnostics.ngrams import FEWEST, frequent, ngrams, presence
from curation.diagnostics.side_guessing import FOLDS, Guess, Ngram, Record, Score, guess
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.project_types import all_types
from db.engine import reading
from db.errors import HedgerowError
from db.execution import Result, RunContext
from db.models import Anchor, Run, RunState, Source, Status, Variant

KIND = "giveaways"
"""The kind of run that looks for giveaways."""

COUNTED = (Status.ACCEPTED, Status.PENDING)
"""What counts: what is or may become part of a release."""

WELL_ABOVE = 0.2
"""Accuracy minus chance from which on a type is worth a look."""

REVIEWERS = "reviewers"
"""The provider of what no provider wrote."""

_STEPS = 2 * FOLDS + 2
"""Of a run: reading, counting n-grams, and the folds of both guesses."""


def counted() -> ColumnElement[bool]:
    """SQL, over ``Variant``: it counts."""
    return and_(col(Variant.retired).is_(False), col(Variant.status).in_(COUNTED))


def data_state(session: Session) -> dict[str, int]:
    """What changes when variants begin or cease to count: their number by type, and the newest."""
    query = select(col(Variant.type_id), func.count()).where(counted())
    found = dict(session.execute(query.group_by(col(Variant.type_id))).all())
    newest = session.execute(select(func.max(col(Variant.id))).where(counted())).scalar()
    return {**found, "": newest or 0}


def newest(session: Session) -> Run | None:
    """The newest run that brought a result."""
    query = select(Run).where(col(Run.kind) == KIND, col(Run.state) == RunState.DONE)
    return session.execute(query.order_by(col(Run.id).desc()).limit(1)).scalar()


def guess_of(result: Result, what: str) -> Guess:
    """A stored guess.

    Args:
        result: of a run of this kind.
        what: "polarity" or "type".
    """
    stored = result["guesses"][what]
    return Guess(
        Score(**stored["total"]),
        {by: [Score(**row) for row in rows] for by, rows in stored["by"].items()},
        {name: [Ngram(**row) for row in rows] for name, rows in stored["telling"].items()},
    )


def _stored(guess: Guess) -> dict[str, Any]:
    """A guess as a run stores it."""
    return {
        "total": guess.total._asdict(),
        "by": {by: [row._asdict() for row in rows] for by, rows in guess.by.items()},
        "telling": {name: [row._asdict() for row in rows] for name, rows in guess.telling.items()},
    }


def by_definition(entry: VariantType) -> bool:
    """Whether a type carries words that betray it because it is defined by them."""
    check = entry.surface_check
    words = set(check.require_new) - {"negative_affix"} or check.require_words
    return bool(words) or check.require_cue or entry.role == "unsupported"


def suspects(scores: Sequence[Score], types: dict[str, VariantType]) -> list[Score]:
    """The types that are guessed well above chance though nothing in their definition betrays them.

    Args:
        scores: by type.

    Returns:
        The one that is farthest above chance comes first.
    """
    found = [
        score
        for score in scores
        if score.name in types
        and not by_definition(types[score.name])
        and score.accuracy - score.chance >= WELL_ABOVE
    ]
    return sorted(found, key=lambda score: score.chance - score.accuracy)


def variants_with(
    session: Session, ngram: str, *, types: Sequence[str], limit: int
) -> tuple[int, ...]:
    """The ids of the variants that count and have the n-gram now.

    Args:
        types: those of these types come first.
        limit: the most ids.
    """
    query = select(col(Variant.id), col(Variant.text)).where(counted())
    # The database narrows the texts down by a word that it compares as Python does.
    if plain := re.findall("[a-z0-9]+", ngram):
        query = query.where(col(Variant.text).icontains(max(plain, key=len), autoescape=True))
    first = case((col(Variant.type_id).in_(types), 0), else_=1)
    found = []
    for variant_id, text in session.execute(query.order_by(first, col(Variant.id))):
        if ngram in ngrams(text):
            found.append(variant_id)
            if len(found) == limit:
                break
    return tuple(found)


def work(context: RunContext) -> Result:
    """Guess polarity and type of everything that counts (run kind ``giveaways``).

    Raises:
        HedgerowError: there are too few anchors, or variants of one type only.
    """
    started = time.monotonic()
    context.update(0, _STEPS, "Reading the variants.")
    with reading(context.engine) as session:
        records = list(_records(session))
        state = data_state(session)
        polarity = {key: entry.polarity for key, entry in all_types(session).items()}
    anchors = len({record.anchor for record in records})
    _check(anchors, {record.type for record in records})
    context.update(1, _STEPS, "Counting n-grams.")
    texts = [record.text for record in records]
    vocabulary = frequent(texts)
    if not vocabulary:
        raise HedgerowError(
            f"Expected words that at least {FEWEST} variants have, found none; add more variants."
        )
    matrix = presence(texts, vocabulary)
    classes = {
        "polarity": [str(polarity[record.type]) for record in records],
        "type": [record.type for record in records],
    }
    guesses = {}
    for place, (what, truth) in enumerate(classes.items()):

        def report(fold: int, done: int = 2 + place * FOLDS, what: str = what) -> None:
            context.update(done + fold, _STEPS, f"Guessing the {what}: fold {fold + 1} of {FOLDS}.")

        guesses[what] = _stored(
            guess(records, truth, matrix=matrix, vocabulary=vocabulary, report=report)
        )
    return {
        "records": len(records),
        "anchors": anchors,
        "ngrams": len(vocabulary),
        "statuses": [status.value for status in COUNTED],
        "data": state,
        "seconds": round(time.monotonic() - started, 1),
        "guesses": guesses,
    }


def _records(session: Session) -> Iterator[Record]:
    query = (
        select(
            col(Variant.anchor_id),
            col(Variant.type_id),
            col(Source.name),
            col(Variant.provider),
            col(Variant.text),
        )
        .join(Anchor, col(Anchor.id) == col(Variant.anchor_id))
        .join(Source, col(Source.id) == col(Anchor.source_id))
        .where(counted())
        .order_by(col(Variant.id))
    )
    for row in session.execute(query):
        record = Record(*row)
        yield record._replace(provider=record.provider or REVIEWERS)


def _check(anchors: int, types: set[str]) -> None:
    if anchors < FOLDS or len(types) < 2:
        raise HedgerowError(
            f"Expected accepted or pending variants of at least {FOLDS} anchors and two types, "
            f"found {anchors} and {len(types)}; add or generate more first."
        )
