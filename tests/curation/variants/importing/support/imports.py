"""Importing a file with variants, and reading the result."""

import json
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session
from sqlmodel import SQLModel, col

from curation.anchors.importing.insert import About
from curation.taxonomy.project_types import all_types
from curation.taxonomy.type_drafts import OwnType
from curation.variants.importing.choices import Choices
from curation.variants.importing.import_run import KIND, create_import, work
from curation.variants.importing.preview import preview
from curation.variants.importing.roles import (
    check_roles,
    guess_roles,
    parse_roles,
    types_by_name,
    with_given,
)
from curation.variants.importing.staged import Staged
from curation.variants.importing.staging import stage
from curation.variants.importing.tables.parts import parts_of_path, parts_of_upload
from curation.variants.importing.tables.table import open_table
from db.engine import reading, writing
from db.execution import execute
from db.models import (
    Anchor,
    AnchorRevision,
    Decision,
    Reviewer,
    Source,
    Status,
    Variant,
)
from db.settings import Settings

ROWS = [
    {
        "anchor": "The bridge is safe.",
        "text": "The bridge is not safe.",
        "type": "verbal",
        "verdict": "accept",
        "reviewer": "Ada",
    },
    {
        "anchor": "The bridge is safe.",
        "text": "The bridge is probably safe.",
        "type": "word",
        "cue": "probably",
        "verdict": "reject",
        "reviewer": "Ada",
        "reason": "Not a hedge",
        "note": "It still stands.",
    },
    {"anchor": "The ferry is late.", "text": "The ferry is early.", "type": "Lexical negation"},
]
HEDGED = OwnType(
    label="Doubt",
    role="hedge",
    definition="The writer doubts it.",
    example_anchor="It rains.",
    example="I doubt that it rains.",
)


def staged(engine: Engine, place: Path | list[dict[str, Any]], *mapping: str) -> Staged:
    """The parsed file."""
    if isinstance(place, Path):
        parts = parts_of_path(place)
    else:
        data = "".join(json.dumps(row) + "\n" for row in place).encode()
        parts = parts_of_upload(data, "mine.jsonl")
    table = open_table(parts)
    with reading(engine) as session:
        types = all_types(session)
    names = types_by_name(types.values())
    given = parse_roles(mapping, columns=table.columns, types=names, name=table.name)
    roles = with_given(guess_roles(table.columns, names), given)
    check_roles(roles, columns=table.columns, name=table.name)
    return stage(table, parts, roles=roles, types=types)


def choices(**more: Any) -> Choices:
    return Choices(**{"about": About("mine", "CC0")} | more)


def load(
    engine: Engine,
    settings: Settings,
    place: Path | list[dict[str, Any]],
    *mapping: str,
    **more: Any,
) -> dict[str, Any]:
    """Import the file. Returns the result, which the preview must have predicted."""
    read = staged(engine, place, *mapping)
    chosen = choices(**more)
    with reading(engine) as session:
        previewed = preview(session, read, chosen)
    with writing(engine) as session:
        run = create_import(session, settings, read, chosen)
    done = execute(engine, settings, run.id, {KIND: work})
    assert (done["anchors"], done["variants"], done["decisions"]) == (
        previewed.anchors,
        previewed.variants,
        previewed.decisions,
    )
    assert done["left_out"] == {reason.value: count for reason, count in previewed.left_out.items()}
    return done


def statuses(engine: Engine) -> dict[str, Status]:
    with reading(engine) as session:
        query = select(col(Variant.text), col(Variant.status))
        return dict(session.execute(query).all())


def counts(engine: Engine) -> dict[str, int]:
    tables = (Source, Anchor, AnchorRevision, Variant, Decision, Reviewer)
    with reading(engine) as session:
        return {
            table.__name__: session.execute(select(func.count()).select_from(table)).scalar_one()
            for table in tables
        }


def all_of(session: Session, table: type[SQLModel]) -> list[Any]:
    return list(session.execute(select(table).order_by(table.id)).scalars())  # type: ignore[attr-defined]
