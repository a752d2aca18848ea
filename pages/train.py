"""Train: finetune an encoder with one click, follow it, and see what it changed."""

import streamlit as st

from db.engine import reading
from db.models import Run
from db.runs import UNFINISHED, list_runs
from pages.components import (
    frame,
    project,
    train_live,
    train_pairs,
    train_result,
    train_runs,
    train_sections,
    train_start,
    train_studies,
)
from pages.components.train_sections import SECTION, SECTIONS
from training.plan import KIND
from training.studies import study_of

SHOWN_RUNS = 300


def _runs() -> list[Run]:
    with reading(project.engine()) as session:
        return list_runs(session, kind=KIND, limit=SHOWN_RUNS)


def _train(runs: list[Run]) -> None:
    """What is at work or has just ended, and the next training; studies have their own section."""
    alone = [run for run in runs if study_of(run) is None]
    train_live.draw(alone)
    busy = train_studies.mention() or any(run.state in UNFINISHED for run in alone)
    train_start.box(busy=busy)
    train_pairs.box()


frame.begin(
    "Train", "Finetune a text encoder on what was accepted, and see what it makes of a “not”."
)
section = st.segmented_control(
    "Section",
    SECTIONS,
    key=SECTION,
    default=SECTIONS[0],
    required=True,
    bind="query-params",
    label_visibility="collapsed",
)
if section != train_sections.RESULTS:
    train_sections.leave_results()
found = _runs()
match section:
    case train_sections.RESULTS:
        train_result.draw([run for run in found if run.state not in UNFINISHED])
    case train_sections.STUDIES:
        train_studies.show()
    case train_sections.RUNS:
        train_runs.show()
    case _:
        _train(found)
