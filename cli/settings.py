"""Settings of the project and of this machine, and what the project contains."""

from typing import Annotated, Any

import typer
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from cli.options import open_home
from cli.terminal import MAX_DIGITS, AsJson, show, table_of
from curation.diagnostics import model_verdicts, opinions, queue_order
from curation.diagnostics.cosines import count_without_cosine
from curation.formatting import counted
from curation.overview import project_settings
from curation.project.settings import (
    ACTIVE_ENCODER,
    GOLD_RATE,
    PRACTISE_FIRST,
    THRESHOLD,
    active_encoder_id,
    get_setting,
)
from curation.review.gold.mixing import change_practise_first, change_rate
from curation.upkeep.facts import (
    DatabaseFacts,
    FolderFacts,
    data_folder_facts,
    database_facts,
    size_text,
)
from db.engine import reading, writing
from db.errors import HedgerowError
from db.runs import package_versions
from db.settings import Settings, setting_facts
from hedgerow.running import carry_out_one

COUNTS = "counts."

KEYS = (
    f"'{THRESHOLD}', '{ACTIVE_ENCODER}', '{GOLD_RATE}' (one in this many cards, 0 for none), "
    f"'{PRACTISE_FIRST}' (on or off) or '{COUNTS}NAME' (a model reviewer: on or off)"
)
FOLLOWED = (THRESHOLD, ACTIVE_ENCODER)
"""Settings that affect the order of variants in the queues."""


def settings(context: typer.Context, as_json: AsJson = False) -> None:
    """Show the settings, or change a project setting."""
    if context.invoked_subcommand is None:
        show_settings(as_json)


def show_settings(as_json: AsJson = False) -> None:
    """Show all settings and what the project contains.

    For secrets, show only whether they are set.
    """
    machine, engine = open_home()
    with reading(engine) as session:
        own = _project(session)
        database = database_facts(session)
    folder = data_folder_facts(machine)
    facts = setting_facts(machine)
    result = {
        "project": own,
        "machine": {fact.name: fact.shown for fact in facts},
        "versions": package_versions(),
        "database": _as_json(database),
        "data_folder": {"path": str(folder.path), "bytes": folder.size, "free": folder.free},
    }
    changes = [THRESHOLD, ACTIVE_ENCODER, GOLD_RATE, PRACTISE_FIRST]
    shown = own | {PRACTISE_FIRST: "on" if own[PRACTISE_FIRST] else "off"}
    rows = [[key, shown[key], f"hedgerow settings set {key} …"] for key in changes]
    rows += [
        [
            f"{COUNTS}{model['name']}",
            "on" if model["counts"] else "off",
            counted(model["decisions"], "decision"),
        ]
        for model in own["model_reviewers"]
    ]
    rows += [[fact.label, fact.shown, fact.name] for fact in facts]
    show(
        result,
        as_json,
        table_of("setting", "value", "changed by", rows=rows),
        *_lines(database, folder),
    )


def _project(session: Session) -> dict[str, Any]:
    return {
        THRESHOLD: get_setting(session, THRESHOLD),
        ACTIVE_ENCODER: get_setting(session, ACTIVE_ENCODER),
        GOLD_RATE: get_setting(session, GOLD_RATE),
        PRACTISE_FIRST: get_setting(session, PRACTISE_FIRST),
        "model_reviewers": [
            {"name": model.name, "counts": model.counts, "decisions": model.decisions}
            for model in opinions.model_reviewers(session)
        ],
        "variants_to_reorder": queue_order.count_to_reorder(session),
    }


def _as_json(database: DatabaseFacts) -> dict[str, Any]:
    return database._asdict() | {
        "schema": database.schema[0],
        "backups": [
            {"path": str(copy.path), "bytes": copy.size, "made_at": copy.made_at.isoformat()}
            for copy in database.backups
        ],
    }


def _lines(database: DatabaseFacts, folder: FolderFacts) -> list[str]:
    size = "" if database.size is None else f", {size_text(database.size)}"
    rows = ", ".join(
        counted(count, name.removesuffix("s")) for name, count in database.rows.items() if count
    )
    return [
        f"The database is {database.engine}, {database.journal}{size}, schema "
        f"{database.schema[0]}. It contains {rows or 'nothing yet'}.",
        *(f"A backup is in {copy.path} ({size_text(copy.size)})." for copy in database.backups),
        f"The data folder {folder.path} takes {size_text(folder.size)}; {size_text(folder.free)} "
        "free on the disk.",
        "Versions: " + ", ".join(f"{k} {v}" for k, v in package_versions().items()) + ".",
    ]


def set_setting(
    key: Annotated[str, typer.Argument(help=f"{KEYS}.")],
    value: Annotated[str, typer.Argument(help="The new value.")],
    as_json: AsJson = False,
) -> None:
    """Change a project setting and update everything that depends on it."""
    machine, engine = open_home()
    with writing(engine) as session:
        changed = _change(session, machine, key, value)
    result: dict[str, Any] = {"setting": key, "changed": changed}
    lines = [f"{key} is {'now' if changed else 'already'} {value.strip()}."]
    if changed and key in FOLLOWED:
        result |= carry_out_one(machine, engine, queue_order.KIND, {})
        lines.append(f"Variants updated in the queues: {result['variants']}.")
    if missing := _unmeasured(engine) if key == ACTIVE_ENCODER else 0:
        lines.append(
            f"{missing} {'variant has' if missing == 1 else 'variants have'} no cosine similarity "
            "from it. Run 'hedgerow diagnose' to measure."
        )
    show(result, as_json, *lines)


def _change(session: Session, machine: Settings, key: str, value: str) -> bool:
    if key == THRESHOLD:
        if not value.strip().isdecimal() or len(value) > MAX_DIGITS:
            raise HedgerowError(f"Expected a number of characters for {key}, found {value[:80]!r}.")
        return project_settings.change_threshold(session, int(value))
    if key == ACTIVE_ENCODER:
        return project_settings.change_encoder(session, machine, value)
    if key == GOLD_RATE:
        if not value.strip().isdecimal() or len(value) > MAX_DIGITS:
            raise HedgerowError(f"Expected a number of cards for {key}, found {value[:80]!r}.")
        return change_rate(session, int(value))
    if key == PRACTISE_FIRST:
        return change_practise_first(session, _is_on(key, value))
    if key.startswith(COUNTS):
        wanted = _is_on(key, value)
        model = model_verdicts.find_model(session, key.removeprefix(COUNTS))
        if model.counts != wanted:
            plan = model_verdicts.plan_switch(session, model.id, counts=wanted)
            model_verdicts.apply_switch(session, plan)
        return model.counts != wanted
    raise HedgerowError(f"Expected {KEYS}, found {key!r}.")


def _is_on(key: str, value: str) -> bool:
    if value not in ("on", "off"):
        raise HedgerowError(f"Expected 'on' or 'off' for {key}, found {value[:80]!r}.")
    return value == "on"


def _unmeasured(engine: Engine) -> int:
    with reading(engine) as session:
        return count_without_cosine(session, active_encoder_id(session))
