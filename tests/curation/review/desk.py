"""People who decide on variants in tests, each time in a transaction of its own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Concatenate, ParamSpec, TypeVar

import pytest
from sqlalchemy import Engine, event, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions import people as changes
from curation.decisions.shown_card import ActionOutcome, ShownCard, shown
from curation.decisions.status import Standing
from curation.decisions.storing import compute_standing
from curation.editing.anchors import correct_anchor
from curation.review import deciding
from curation.review.adjudication import shown_to_settle
from curation.review.large_actions import undo_rest
from curation.review.undo import Undone
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Anchor, Lease, Status, Variant, Verdict
from tests.support.factories import ANCHOR, add_family, add_opinion, person

A, R, E = Verdict.ACCEPT, Verdict.REJECT, Verdict.EDIT
VERBAL, ABSOLUTE, AFFIXAL, LEXICAL, WORD, PHRASE, ANTONYM = range(1, 8)
"""The ids of the first family's variants."""

DO: dict[Verdict, Any] = {A: deciding.accept, R: deciding.reject, E: deciding.edit}

Who = int | str
P = ParamSpec("P")
T = TypeVar("T")


class Desk:
    """A project on which people, who are given by name or id, decide."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._ids: dict[str, int] = {}

    def read(self, do: Callable[Concatenate[Session, P], T], *args: P.args, **more: P.kwargs) -> T:
        with reading(self.engine) as session:
            return do(session, *args, **more)

    def write(self, do: Callable[Concatenate[Session, P], T], *args: P.args, **more: P.kwargs) -> T:
        with writing(self.engine) as session:
            return do(session, *args, **more)

    def get(self, variant_id: int | None) -> Variant:
        return self.read(Session.get_one, Variant, variant_id)

    def uid(self, variant_id: int) -> str:
        return self.get(variant_id).uid

    def rows(self, table: type[T]) -> list[T]:
        """All rows of a table, in the order of their keys."""
        query = select(table).order_by(*table.__table__.primary_key)  # type: ignore[attr-defined]
        with reading(self.engine) as session:
            return list(session.execute(query).scalars())

    def who(self, who: Who) -> int:
        """The id of a person."""
        if isinstance(who, str) and who not in self._ids:
            self._ids[who] = self.write(person, who)
        return who if isinstance(who, int) else self._ids[who]

    def people(self, *names: str) -> list[int]:
        return [self.who(name) for name in names]

    def family(self, text: str = ANCHOR, **more: str) -> dict[str, int]:
        """The ids of a new family, by type."""
        return {key: one.id for key, one in self.write(add_family, text, **more).items()}

    def families(self, number: int) -> list[dict[str, int]]:
        return [self.family(f"Bridge {n} is safe.", subject=f"bridge {n}") for n in range(number)]

    def card(self, variant_id: int, **more: Any) -> ShownCard:
        """A card as shown now, with other fields if given."""
        return shown(self.get(variant_id))._replace(**more)

    def decide(
        self, who: Who, on: int | ShownCard, verdict: Verdict = A, **more: Any
    ) -> ActionOutcome:
        """Decide on a card, or on one that is shown now. Fields of the card can be given, too."""
        reviewer = self.who(who)
        given = {field: more.pop(field) for field in ShownCard._fields if field in more}
        if verdict is R:
            more.setdefault("reason", "wrong_scope")
        with writing(self.engine) as session:
            card = shown(session.get_one(Variant, on)) if isinstance(on, int) else on
            if verdict is E and not more.keys() & {"text", "type_id", "cue"}:
                more["text"] = f"{session.get_one(Variant, card.variant_id).text} Really."
            return DO[verdict](session, card._replace(**given), reviewer_id=reviewer, **more)

    def settle(self, who: Who, variant_id: int, verdict: Verdict = A, **more: Any) -> ActionOutcome:
        card = self.read(shown_to_settle, self.uid(variant_id))
        return self.decide(who, card, verdict, **more)

    def opine(self, judge: int, variant_id: int, verdict: Verdict = A, **more: Any) -> bool:
        """Store a judge's opinion. Returns whether it was stored."""
        with writing(self.engine) as session:
            variant = session.get_one(Variant, variant_id)
            return add_opinion(session, variant, verdict, reviewer_id=judge, **more)

    def change(self, *variant_ids: int, **values: Any) -> None:
        """Set columns of variants, or of all variants if none is given."""
        query = update(Variant).values(values)
        self.write(
            Session.execute,
            query.where(col(Variant.id).in_(variant_ids)) if variant_ids else query,
        )

    def let_leases_expire(self) -> None:
        self.write(Session.execute, update(Lease).values(until=datetime(2020, 1, 1, tzinfo=UTC)))

    def undo(self, who: Who = "Ada", **more: Any) -> Undone | None:
        undone = self.write(deciding.undo, reviewer_id=self.who(who), **more)
        return undone and undo_rest(self.engine, undone, reviewer_id=self.who(who))

    def undone(self, who: Who = "Ada") -> Undone:
        """What an undo took back, where there is something to undo."""
        return self.undo(who) or pytest.fail("nothing to undo")

    def correct(self, variant_id: int, wording: str = "The bridges are safe.") -> None:
        """Give the variant's anchor another wording."""
        anchor = self.read(Session.get_one, Anchor, self.get(variant_id).anchor_id)
        ada, revision = self.who("Ada"), anchor.revision
        self.write(correct_anchor, anchor.id, wording, reviewer_id=ada, expected_revision=revision)

    def merge(self, who: Who, into: Who) -> None:
        changes.merge(self.engine, person=self.who(who), into=self.who(into))

    def separate(self, who: Who) -> None:
        changes.separate(self.engine, self.who(who))

    def standings(self) -> dict[int, Standing]:
        """What is kept about each variant, which always equals what its decisions give."""
        with reading(self.engine) as session:
            kept = {
                v.id: Standing(v.status, v.second_look, v.model_only, v.verdicts_by)
                for v in session.execute(select(Variant).order_by(col(Variant.id))).scalars()
            }
            assert kept == compute_standing(session, list(kept))
        return kept

    def status(self, variant_id: int | None) -> Status:
        return self.standings()[variant_id or 0].status


def refused(fact: str = "") -> Any:
    """Expect a refusal that names this fact."""
    return pytest.raises(HedgerowError, match=fact or None)


@contextmanager
def statements(engine: Engine) -> Iterator[list[tuple[str, Any]]]:
    """The statements that are executed meanwhile, with their parameters."""
    made: list[tuple[str, Any]] = []

    def note(*args: Any) -> None:
        made.append((args[2], args[3]))

    event.listen(engine, "before_cursor_execute", note)
    yield made
    event.remove(engine, "before_cursor_execute", note)
