"""Train: finetune an encoder or a language model, follow it, and see what it changed."""

import streamlit as st

from curation.review.deciding import MAX_TEXT
from db.models import Run
from db.runs import UNFINISHED, list_runs
from pages.components.shared.shell import current_user, error_messages, frame, open_project
from pages.components.train import (
    language_sections,
    recipe_parts,
    runs_table,
    study_form,
    summary_section,
    training_form,
    training_runs,
)
from pages.components.train import ranking_section as nevir
from training.evaluation.probe_sets import StoredProbe
from training.evaluation.probes import add_own_probe, own_probes, remove_own_probe
from training.recipe.training_data import KIND
from training.studies.members import study_of

# -- The user's own sentence pairs, measured before and after each training run -------------------


_PROBLEM = "train_probe_problem"
_ANCHOR, _TEXT = "train-probe-anchor", "train-probe-text"

# Relative widths of the two sentences and the button, whose label must fit in a narrow window.
WIDTHS = [5, 5, 2]


@current_user.for_leads()
def _own_pairs() -> None:
    """Add, list and remove pairs; each change is stored immediately."""
    stored = open_project.ask(own_probes)
    count = f" ({len(stored)})" if stored else ""
    with st.expander(
        f"Your own sentence pairs{count}",
        icon=":material/compare_arrows:",
        expanded=error_messages.has_kept(_PROBLEM),
        key="train-probes",
    ):
        st.caption(
            "Each run measures their similarity before and after training. The Results section "
            "shows it next to Figure 1."
        )
        for pair in stored:
            _pair(pair)
        with st.form("train-probe", border=False):
            first, second, add = st.columns(WIDTHS, vertical_alignment="bottom")
            first.text_input("First sentence", key=_ANCHOR, max_chars=MAX_TEXT)
            second.text_input("Second sentence", key=_TEXT, max_chars=MAX_TEXT)
            add.form_submit_button("Add", on_click=_add, width="stretch")
        error_messages.show_kept(_PROBLEM)


def _pair(pair: StoredProbe) -> None:
    first, second, remove = st.columns(WIDTHS, vertical_alignment="center")
    first.text(pair.probe.anchor)
    second.text(pair.probe.text)
    remove.button(
        "Remove",
        key=f"train-probe-{pair.id}",
        on_click=open_project.tell,
        args=(remove_own_probe, pair.id),
        width="stretch",
        type="tertiary",
    )


def _add() -> None:
    with error_messages.kept_for(_PROBLEM):
        open_project.tell(
            add_own_probe,
            anchor=st.session_state[_ANCHOR],
            text=st.session_state[_TEXT],
            author_id=current_user.reviewer_id(),
        )
        st.session_state[_ANCHOR] = st.session_state[_TEXT] = ""


SHOWN_RUNS = 300


def _train(runs: list[Run]) -> None:
    """Current and latest runs, and the form for the next one; studies have their own section."""
    alone = [run for run in runs if study_of(run) is None]
    training_runs.draw(alone)
    busy = study_form.mention() or any(run.state in UNFINISHED for run in alone)
    training_form.box(busy=busy)
    _own_pairs()
    recipe_parts.draw_bundled_texts()


def _encoder() -> None:
    """The sections for text encoders."""
    section = frame.section(training_runs.SECTIONS, key=training_runs.SECTION)
    if section != training_runs.RESULTS:
        training_runs.leave_results()
    found = open_project.ask(list_runs, kind=KIND, limit=SHOWN_RUNS)
    match section:
        case training_runs.RESULTS:
            summary_section.draw([run for run in found if run.state not in UNFINISHED])
        case training_runs.STUDIES:
            study_form.show()
        case training_runs.RUNS:
            runs_table.show_runs()
        case training_runs.NEVIR:
            nevir.show()
        case _:
            _train(found)


frame.begin(
    "Train",
    "Finetune a text encoder or a language model on the accepted variants and see how well it "
    "handles negation.",
)
if training_runs.choose_kind() == training_runs.LANGUAGE:
    if language_sections.language_sections() != language_sections.RESULTS:
        training_runs.leave_results()
else:
    _encoder()
