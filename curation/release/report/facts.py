"""Facts of a report beyond the release's summary: who decided, by which rules, at what cost.

It counts decisions that were made before the release and have not been undone since.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy import ColumnElement, Select, and_, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.revisions import of_sources
from curation.decisions.history import decisions_with, not_retracted
from curation.decisions.reviewers import person_id_now
from curation.decisions.storing import RULE, counts_still
from curation.generation.budget import cost_rows
from curation.release.selection import selection_of
from curation.review.agreement.overlap import is_vote
from db.models import Decision, Release, ReleaseItem, Reviewer, ReviewerKind, Variant, Verdict


class Written(NamedTuple):
    """The variants written by one model with one prompt version, and their cost.

    Attributes:
        prompt: the prompt with its version; '' for variants without a prompt.
        variants: number of released variants.
        calls: number of all calls with this prompt and model in this project, whatever their
            outcome.
        cost: cost of all these calls in US dollars; None if nothing is recorded.
        is_estimate: some of the cost is estimated, because a server reported no tokens.
    """

    provider: str
    model: str
    prompt: str
    variants: int
    calls: int
    cost: float | None
    is_estimate: bool


class Settled(NamedTuple):
    """How many conflicts have been settled, and by how many people."""

    variants: int
    people: int


def written(session: Session, release: Release) -> list[Written]:
    """Return who wrote the variants of a release, by provider, model and prompt version."""
    provenance = col(ReleaseItem.provenance)
    by = (
        provenance["provider"].as_string(),
        provenance["model"].as_string(),
        provenance["prompt"].as_string(),
    )
    query = select(*by, func.count()).where(col(ReleaseItem.release_id) == release.id).group_by(*by)
    found: Counter[tuple[str, str, str]] = Counter()
    for provider, model, prompt, count in session.execute(query):
        found[provider or "", model or "", prompt or ""] += count
    calls: Counter[tuple[str, str, str]] = Counter()
    cost: dict[tuple[str, str, str], float] = {}
    estimated = set()
    for row in cost_rows(session):
        key = (row.provider, row.model, f"{row.prompt} v{row.version}")
        calls[key] += row.calls
        cost[key] = cost.get(key, 0.0) + row.cost
        if row.is_estimate:
            estimated.add(key)
    return [
        Written(*key, found[key], calls[key], cost.get(key), key in estimated)
        for key in sorted(found)
    ]


def people(session: Session, release: Release) -> list[Counter[Verdict]]:
    """Count each person's verdicts, highest count first.

    Names are left out because papers are public.
    """
    query = (
        _decisions(release, person_id_now(), col(Decision.verdict), func.count())
        .where(is_vote())
        .group_by(person_id_now(), col(Decision.verdict))
    )
    found: dict[int, Counter[Verdict]] = {}
    for person, verdict, count in session.execute(query):
        found.setdefault(person, Counter())[verdict] += count
    return sorted(found.values(), key=lambda verdicts: -verdicts.total())


def settled(session: Session, release: Release) -> Settled:
    """Count the conflicts that people settled before the release."""
    numbers = (
        func.count(col(Decision.variant_id).distinct()),
        func.count(person_id_now().distinct()),
    )
    query = _decisions(release, *numbers).where(
        col(Decision.adjudicates), col(Reviewer.kind) == ReviewerKind.PERSON, _counts()
    )
    return Settled(*session.execute(query).one())


def rules(session: Session, release: Release) -> list[tuple[str, str, int]]:
    """Return rule, verdict and number of variants for each rule that people applied.

    The rule is as it was typed, with the note that was given with it.
    """
    query = (
        _decisions(release, col(Decision.note), col(Decision.verdict), func.count())
        .where(func.substr(col(Decision.note), 1, len(RULE)) == RULE, _counts())
        .group_by(col(Decision.note), col(Decision.verdict))
        .order_by(col(Decision.note), col(Decision.verdict))
    )
    return [
        (note.removeprefix(RULE), verdict.value, count)
        for note, verdict, count in session.execute(query)
    ]


def _counts() -> ColumnElement[bool]:
    return and_(col(Variant.retired).is_(False), counts_still(), not_retracted())


def _decisions(release: Release, *columns: Any) -> Select[*tuple[Any, ...]]:
    return decisions_with(*columns).where(
        col(Decision.decided_at) <= release.created_at,
        of_sources(selection_of(release).sources),
    )


# -- The parts of a report, independent of LaTeX or Markdown --------------------------------------


Cell: TypeAlias = str | int
"""A table's cell. Numbers are right-aligned, with grouped thousands."""


class Table(NamedTuple):
    """A table with a caption.

    Attributes:
        name: the end of its label: ``tab:NAME``.
        wide: titles of columns with running text, which share the page's width.
    """

    name: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    wide: Sequence[str] = ()


class Code(NamedTuple):
    """Lines that are printed verbatim. Each is our own text or already escaped."""

    text: str


Block: TypeAlias = str | Table | Code
"""A paragraph of plain text, a table or code."""


class Section(NamedTuple):
    """A heading and its contents."""

    title: str
    blocks: Sequence[Block]


class Report(NamedTuple):
    """The data section about one release."""

    release: int
    content_hash: str
    sections: Sequence[Section]

    def facts(self) -> dict[str, Any]:
        """Return the facts for JSON."""
        return {
            "release": self.release,
            "hash": self.content_hash,
            "sections": [
                {
                    "title": section.title,
                    "text": [block for block in section.blocks if isinstance(block, str)],
                    "tables": [
                        {
                            "name": block.name,
                            "caption": block.caption,
                            "columns": list(block.columns),
                            "rows": [list(row) for row in block.rows],
                        }
                        for block in section.blocks
                        if isinstance(block, Table)
                    ],
                }
                for section in self.sections
            ],
        }
