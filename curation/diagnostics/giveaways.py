"""Giveaways: predict the class of a variant without its anchor.

A linear classifier reads the words of variants and predicts their polarity and type. It never sees
an anchor, and no anchor has variants in both the training and the test data. A model could learn
classes that it predicts well without comparing two sentences. Poliak et al. (2018) and Gururangan
et al. (2018) found such artefacts in corpora of natural language inference.
"""

import re
import time
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.revisions import is_bundled
from curation.diagnostics.side_guessing import (
    FEWEST,
    FOLDS,
    Guess,
    Ngram,
    Record,
    Score,
    frequent,
    guess,
    ngrams,
    presence,
)
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.project_types import all_types
from db.columns import limited_to
from db.engine import reading
from db.errors import HedgerowError
from db.execution import Result, RunContext
from db.models import Anchor, Run, RunState, Source, Status, Variant
from db.runs import get_run

KIND = "giveaways"
"""The kind of these runs."""

COUNTED = (Status.ACCEPTED, Status.PENDING)
"""The statuses that count: variants that are or may become part of a release."""

WELL_ABOVE = 0.2
"""Minimum accuracy minus chance at which a type should be checked."""

REVIEWERS = "reviewers"
"""The provider shown for variants that no provider wrote."""

_STEPS = 2 * FOLDS + 2
"""Steps of a run: reading, counting n-grams, and the folds of both predictions."""


def parameters(source_id: int | None = None) -> dict[str, int]:
    """The run parameters for one source or all; see ``work``."""
    return {} if source_id is None else {"source": source_id}


def counted(source_id: int | None = None) -> ColumnElement[bool]:
    """SQL over ``Variant``: whether it counts and is from this source, or from any."""
    return and_(
        col(Variant.retired).is_(False),
        col(Variant.status).in_(COUNTED),
        limited_to(col(Variant.source_id), source_id),
    )


def data_state(session: Session, source_id: int | None = None) -> dict[str, int]:
    """Return a value that changes when variants of one source, or of all, start or stop counting.

    It is their number by type, and the newest one.
    """
    its = counted(source_id)
    query = select(col(Variant.type_id), func.count()).where(its)
    found = dict(session.execute(query.group_by(col(Variant.type_id))).all())
    newest = session.execute(select(func.max(col(Variant.id))).where(its)).scalar()
    return {**found, "": newest or 0}


def newest(session: Session, source_id: int | None = None) -> Run | None:
    """The newest successful run for one source or for all."""
    return session.execute(_runs(source_id).where(col(Run.state) == RunState.DONE)).scalar()


def last(session: Session, source_id: int | None = None) -> Run | None:
    """The newest run for one source or for all, in any state."""
    found = session.execute(_runs(source_id)).scalar()
    return None if found is None else get_run(session, found.id)


def _runs(source_id: int | None) -> Select[Run]:
    """SQL: runs for one source or for all, newest first."""
    its = col(Run.parameters)["source"].as_integer()
    wanted = its.is_(None) if source_id is None else its == source_id
    query = select(Run).where(col(Run.kind) == KIND, wanted)
    return query.order_by(col(Run.id).desc()).limit(1)


def guess_of(result: Result, what: str) -> Guess:
    """Read a stored prediction.

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
    """Convert a prediction for storing with a run."""
    return {
        "total": guess.total._asdict(),
        "by": {by: [row._asdict() for row in rows] for by, rows in guess.by.items()},
        "telling": {name: [row._asdict() for row in rows] for name, rows in guess.telling.items()},
    }


def by_definition(entry: VariantType) -> bool:
    """Whether a type's definition requires words that give it away."""
    check = entry.surface_check
    words = set(check.require_new) - {"negative_affix"} or check.require_words
    return bool(words) or check.require_cue or entry.role == "unsupported"


def suspects(scores: Sequence[Score], types: dict[str, VariantType]) -> list[Score]:
    """The types that are predicted well above chance although their definition does not require it.

    Args:
        scores: by type.

    Returns:
        Type ids, the one farthest above chance first.
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
    session: Session,
    ngram: str,
    *,
    types: Sequence[str],
    limit: int,
    source_id: int | None = None,
) -> tuple[int, ...]:
    """Return the ids of the variants that currently count and contain the n-gram.

    Args:
        types: variants of these types come first; within each group, those of the user's own
            anchors.
        limit: maximum number of ids.
        source_id: only variants from this source; None for all.
    """
    query = (
        select(col(Variant.id), col(Variant.text))
        .join(Source, col(Source.id) == col(Variant.source_id))
        .where(counted(source_id))
    )
    # The database only preselects texts by one word; Python makes the exact comparison.
    if plain := re.findall("[a-z0-9]+", ngram):
        query = query.where(col(Variant.text).icontains(max(plain, key=len), autoescape=True))
    first = case((col(Variant.type_id).in_(types), 0), else_=1)
    found = []
    order = first, is_bundled(col(Source.name)), col(Variant.id)
    for variant_id, text in session.execute(query.order_by(*order)):
        if ngram in ngrams(text):
            found.append(variant_id)
            if len(found) == limit:
                break
    return tuple(found)


def work(context: RunContext) -> Result:
    """Predict polarity and type of all accepted and pending variants (run kind ``giveaways``).

    Parameters: ``source``, the id of the source to check; without it, all sources.

    Raises:
        HedgerowError: there are too few anchors, or variants of only one type.
    """
    started = time.monotonic()
    source_id = context.parameters.get("source")
    context.update(0, _STEPS, "Reading the variants.")
    with reading(context.engine) as session:
        records = list(_records(session, source_id))
        state = data_state(session, source_id)
        source = None if source_id is None else session.get_one(Source, source_id).name
        polarity = {key: entry.polarity for key, entry in all_types(session).items()}
    anchors = len({record.anchor for record in records})
    types = {record.type for record in records}
    if anchors < FOLDS or len(types) < 2:
        raise HedgerowError(
            f"Expected accepted or pending variants of at least {FOLDS} anchors and two types, "
            f"found {anchors} and {len(types)}; add or generate more first."
        )
    context.update(1, _STEPS, "Counting n-grams.")
    texts = [record.text for record in records]
    vocabulary = frequent(texts)
    if not vocabulary:
        raise HedgerowError(
            f"Expected words that occur in at least {FEWEST} variants, found none; add more "
            "variants."
        )
    matrix = presence(texts, vocabulary)
    classes = {
        "polarity": [str(polarity[record.type]) for record in records],
        "type": [record.type for record in records],
    }
    guesses = {}
    for place, (what, truth) in enumerate(classes.items()):

        def report(fold: int, done: int = 2 + place * FOLDS, what: str = what) -> None:
            context.update(
                done + fold, _STEPS, f"Predicting the {what}: fold {fold + 1} of {FOLDS}."
            )

        guesses[what] = _stored(
            guess(records, truth, matrix=matrix, vocabulary=vocabulary, report=report)
        )
    return {
        "records": len(records),
        "anchors": anchors,
        "source": source,
        "ngrams": len(vocabulary),
        "statuses": [status.value for status in COUNTED],
        "data": state,
        "seconds": round(time.monotonic() - started, 1),
        "guesses": guesses,
    }


def _records(session: Session, source_id: int | None) -> Iterator[Record]:
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
        .where(counted(source_id))
        .order_by(col(Variant.id))
    )
    for row in session.execute(query):
        record = Record(*row)
        yield record._replace(provider=record.provider or REVIEWERS)
