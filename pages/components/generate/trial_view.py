"""Results of a trial: the variants of each anchor, and the raw answers."""

from collections.abc import Mapping, Sequence
from itertools import groupby

import streamlit as st
from markupsafe import Markup

from curation.decisions.roles import for_the_project
from curation.generation.choices import is_trial
from curation.generation.estimate import TRIAL
from curation.generation.run_report import ShownCall, calls_in_full, is_measured, variant_ids
from curation.taxonomy.surface_check import ROLES, role_name
from db.models import Run, RunState
from pages.components.generate import live_run
from pages.components.shared.formatting import markup
from pages.components.shared.formatting.diff import diff, join
from pages.components.shared.runs import background
from pages.components.shared.shell import open_project
from pages.components.shared.variants.picked_variants import open_in_review

IN_REVIEW = 5000
"""Maximum number of a run's variants to open in Review at once."""


def newest_trial(runs: Sequence[Run]) -> Run | None:
    """The newest run, if it is a finished trial."""
    newest = runs[0] if runs else None
    ended = newest is not None and newest.state == RunState.DONE and is_trial(newest)
    return newest if ended else None


def draw(run: Run) -> None:
    """Show each anchor of the trial with its variants, and the raw answers collapsed."""
    shown = open_project.ask(calls_in_full, run.id, limit=TRIAL * len(ROLES))
    if not open_project.ask(is_measured, run.id):  # a trial does not wait for the count
        with for_the_project():
            background.measure()
    labels = {entry.id: entry.label for entry in open_project.types()}
    with st.container(border=True, key=f"generate-look-{run.id}"):
        st.header("Trial", anchor=False)
        st.text(
            f"Run {run.id}: {live_run.title(run)}. Read the results before you start the full run."
        )
        for _, calls in groupby(shown, key=lambda call: call.anchor):
            markup.show(_family(list(calls), labels))
        live_run.figures(run)
        if any(call.raw for call in shown):
            with st.expander("Raw answers", icon=":material/data_object:"):
                _raw(shown)
        review_button(run)


def _family(calls: Sequence[ShownCall], labels: Mapping[str, str]) -> Markup:
    """One anchor with its new variants; changed words are marked."""
    rows = [
        _row("Anchor", Markup('<span class="hg-text"><b>{}</b></span>').format(calls[0].anchor))
    ]
    for call in calls:
        for type_id, text in call.variants:
            cue = call.cues.get(type_id)
            label = labels.get(type_id, type_id) + (f" · {cue}" if cue else "")
            rows.append(_row(label, diff(call.anchor, text)[1]))
        if not call.variants or call.problems:
            rows.append(_row(role_name(call.role), call.problems or "no variants"))
    return Markup('<div class="hg-card hg-siblings">{}</div>').format(join(rows))


def _row(label: str, text: str | Markup) -> Markup:
    return Markup('<div class="hg-row"><span class="hg-label">{}</span><div>{}</div></div>').format(
        label, text
    )


def _raw(shown: Sequence[ShownCall]) -> None:
    for call in shown:
        st.text(f"{role_name(call.role)}: {call.anchor}")
        st.code(call.raw or "No answer.", language=None, wrap_lines=True)


def review_button(run: Run) -> None:
    """Link to review the variants of a run."""
    if st.button("Review variants", key=f"generate-review-{run.id}", icon=":material/rate_review:"):
        ids = open_project.ask(variant_ids, run.id, limit=IN_REVIEW)
        open_in_review(ids, f"run {run.id}")
