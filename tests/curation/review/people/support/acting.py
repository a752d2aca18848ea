"""Acting in the role of a person, and the content of a project before and after."""

from typing import Any

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import SQLModel

from curation.review import actions
from curation.review.people.roles import Role, set_who_acts
from db.engine import reading
from db.errors import HedgerowError
from db.models import Variant

VIEWER, REVIEWER = "You are a viewer", "Only a lead can do this"
"""How a refusal starts for a viewer and for a reviewer."""

Ids = dict[str, int]


def refused(role: Role) -> Any:
    """Expect the refusal of a change that this role may not make."""
    return pytest.raises(HedgerowError, match=VIEWER if role is Role.VIEWER else REVIEWER)


def act_as(engine: Engine, who: int | Role) -> None:
    """Make this person, or somebody with this role, the current user."""
    set_who_acts(lambda: who, engine)


def content(engine: Engine) -> dict[str, list[Any]]:
    """All rows of all tables."""
    with reading(engine) as session:
        return {
            name: session.execute(select(table).order_by(*table.primary_key)).all()
            for name, table in SQLModel.metadata.tables.items()
        }


def shown_card(session: Session, ids: Ids) -> actions.ShownCard:
    """The card of the verbal variant, as shown now."""
    return actions.shown(session.get_one(Variant, ids["verbal"]))
