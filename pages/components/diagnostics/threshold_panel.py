"""Levenshtein distances and cosine similarities by type, and the effect of another threshold."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from curation.anchors.revisions import sources_in_use
from curation.diagnostics import distributions
from curation.diagnostics.queue_order import KIND as REORDER
from curation.overview.project_settings import change_threshold
from curation.project.settings import ACTIVE_ENCODER, THRESHOLD, get_setting
from curation.review.large_actions import undo_action
from curation.review.rules import apply_rule, of_source, parse_rule
from curation.taxonomy.reject_reasons import REJECT_REASONS
from db.models import Status, Verdict
from pages.components.diagnostics import histogram_charts
from pages.components.diagnostics.scope_of_page import PageView, counting, measure_button
from pages.components.shared import page_runs, tables
from pages.components.shared.charts import plot
from pages.components.shared.shell import count_cache, current_user, error_messages, open_project

KEY = "threshold"
SHOWN = "threshold_told"
REJECTED = "threshold_rejected"
"""Session key: the action id of the last bulk rejection made here."""

SHORTEST_AXIS = 100


def draw(view: PageView) -> None:
    """Show the section."""
    distances = view.counts.get(distributions.levenshtein_counts, view.scope.source_id)
    in_use = view.in_use()
    if distances is None or in_use is None:
        counting()
        return
    measured = sum(row.number for row in distances)
    if measured < in_use:
        measure_button(in_use - measured, what="distance")
    if measured:
        _distances(_keeping_words(view), distances)
        _cosines(view, in_use)


def _keeping_words(view: PageView) -> PageView:
    """The view of the types that the threshold applies to, possibly none."""
    known = open_project.every_type()
    wanted = view.scope.types or view.labels
    kept = tuple(t for t in wanted if known[t].surface_check.keeps_words)
    return replace(view, scope=replace(view.scope, types=kept))


def _distances(view: PageView, rows: Sequence[distributions.Count]) -> None:
    st.header("Distance from the anchor", anchor=False)
    if not view.scope.types:
        st.text("The threshold does not apply to these free-form types.")
        return
    present = int(open_project.ask(get_setting, THRESHOLD))
    threshold = _slider(rows, view.scope, present)
    counts = distributions.by_type(rows, view.scope)
    labels = view.labels_of(counts)
    if not counts:
        st.text("No measured variant of these types has this status.")
        return
    _effect(view, rows, threshold)
    plot.chart_to_save(
        partial(histogram_charts.levenshtein, counts, labels=labels, threshold=threshold),
        name="levenshtein",
        alt_text="Histograms of the Levenshtein distance, one row per type; the table below shows "
        "how many variants are above the threshold",
    )
    st.caption(
        "Each row is scaled to its own highest bar. Hover over a bar to see its count. Free-form "
        "types are left out because the threshold does not apply to them."
    )
    _acts(view, rows, threshold, present)
    _by_type(view, rows, threshold, labels)


def _slider(rows: Sequence[distributions.Count], scope: distributions.Scope, present: int) -> int:
    longest = min(max((row.value for row in rows if row.type_id in scope.types), default=0), 500)
    st.session_state.setdefault(KEY, present)
    return st.slider(
        "Levenshtein threshold (characters)",
        1,
        max(SHORTEST_AXIS, present, longest),
        key=KEY,
        bind="query-params",
        help="Try a value. Nothing changes until you press the button below. The paper drops "
        "variants that are more than 60 characters (about ten words) away from their anchor.",
    )


def _effect(view: PageView, rows: Sequence[distributions.Count], threshold: int) -> None:
    """The effect of the threshold in a sentence."""
    total = sum(distributions.totals(rows, view.scope).values())
    lost = sum(distributions.over(rows, view.scope, threshold).values())
    pending = _count_pending(view.scope, rows, threshold)
    st.text(
        f"{lost:,} of {total:,} variants ({lost / total:.2%}) are above a threshold of "
        f"{threshold}; {f'{pending:,}' if pending else 'none'} of them are pending."
    )


def _by_type(
    view: PageView, rows: Sequence[distributions.Count], threshold: int, labels: dict[str, str]
) -> None:
    """The effect of the threshold on each type."""
    measured = distributions.totals(rows, view.scope)
    cut = distributions.over(rows, view.scope, threshold)
    pending = distributions.over(rows, _pending(view.scope), threshold)
    table = [
        _line(labels[t], measured[t], cut.get(t, 0), pending.get(t, 0))
        for t in labels
        if t in measured
    ]
    if len(table) > 1:
        sums = (sum(values.values()) for values in (measured, cut, pending))
        table.append(_line("All types", *sums))
    st.dataframe(
        tables.percentages(table, "Share above", digits=2),
        hide_index=True,
        key="cut-by-type",
        width="content",
        height="content",
        column_config=tables.counts(("Measured", "Above", "Pending above")),
    )


def _line(label: str, measured: int, cut: int, pending: int) -> dict[str, object]:
    return {
        "Type": label,
        "Measured": measured,
        "Above": cut,
        "Share above": cut / measured,
        "Pending above": pending,
    }


def _count_pending(
    scope: distributions.Scope, rows: Sequence[distributions.Count], threshold: int
) -> int:
    return sum(distributions.over(rows, _pending(scope), threshold).values())


def _pending(scope: distributions.Scope) -> distributions.Scope:
    return replace(scope, status=Status.PENDING)


@current_user.for_leads("change the threshold or reject the variants above it")
def _acts(
    view: PageView, rows: Sequence[distributions.Count], threshold: int, present: int
) -> None:
    pending = _count_pending(view.scope, rows, threshold)
    with st.container(horizontal=True, vertical_alignment="center", key="threshold-acts"):
        st.button(
            f"Set the project's threshold to {threshold}",
            key="keep-threshold",
            disabled=threshold == present,
            on_click=_keep,
            args=(threshold,),
            help=f"Currently {present}. Flags and review queues are updated in the background.",
        )
        if pending:
            with st.popover(
                f"Reject the {pending:,} pending variants above it", icon=":material/block:"
            ):
                _reject_form(view.scope, threshold, pending)
    error_messages.show_once(SHOWN)
    if REJECTED in st.session_state:
        st.button("Undo rejection", key="undo-threshold", on_click=_undo)


def _keep(threshold: int) -> None:
    if open_project.tell(change_threshold, threshold):
        page_runs.ensure(REORDER)
        count_cache.forget()
        st.session_state[SHOWN] = f"The project's threshold is now {threshold}."


def _reject_form(scope: distributions.Scope, threshold: int, pending: int) -> None:
    if current_user.reviewer_id() is None:
        st.write("Decisions are stored under your name so that they can be undone.")
        current_user.name_form("Your name", key="signin-diagnostics")
        return
    types = open_project.every_type()
    wanted = [types[type_id] for type_id in scope.types]
    reasons = {
        reason.id: reason.label
        for reason in REJECT_REASONS
        if reason.id != "other" and all(reason.applies_to(entry) for entry in wanted)
    }
    reason = st.selectbox(
        "Reason",
        list(reasons),
        index=None,
        format_func=lambda key: reasons[key],
        placeholder="Reject reason",
        key="threshold-reason",
    )
    st.button(
        f"Reject {pending:,}",
        key="reject-over",
        type="primary",
        disabled=reason is None,
        on_click=_reject,
        args=(scope, threshold, reason),
    )


def _reject(scope: distributions.Scope, threshold: int, reason: str) -> None:
    reviewer_id = current_user.reviewer_id()
    assert reviewer_id is not None  # the form is only shown to a reviewer
    rule = parse_rule(f"levenshtein > {threshold}")
    if scope.source_id is not None:
        rule = of_source(rule, open_project.ask(sources_in_use)[scope.source_id])
    done = apply_rule(
        open_project.engine(),
        rule,
        verdict=Verdict.REJECT,
        reviewer_id=reviewer_id,
        reason=reason,
        types=scope.types,
    )
    count_cache.forget()
    st.session_state[SHOWN] = f"Rejected {done.matches.total:,} variants."
    if done.action_id is not None:
        st.session_state[REJECTED] = (done.action_id, reviewer_id)


def _undo() -> None:
    action_id, reviewer_id = st.session_state.pop(REJECTED)
    undone = undo_action(open_project.engine(), action_id, reviewer_id=reviewer_id)
    count_cache.forget()
    st.session_state[SHOWN] = f"Undid {undone.decisions:,} rejections."


def _cosines(view: PageView, in_use: int) -> None:
    st.header("Similarity to the anchor", anchor=False)
    rows = view.counts.get(distributions.cosine_counts, view.scope.source_id)
    if rows is None:
        counting()
        return
    measured = sum(row.number for row in rows)
    if measured < in_use:
        measure_button(in_use - measured, what="cosine")
    counts = distributions.by_type(rows, view.scope)
    if not counts:
        return
    encoder = open_project.ask(get_setting, ACTIVE_ENCODER)
    plot.chart_to_save(
        partial(histogram_charts.cosine, counts, labels=view.labels_of(counts)),
        name="cosine",
        alt_text="Histograms of the cosine similarity between anchor and variant, one row per type",
    )
    st.text(f"Computed with the active encoder, {encoder}. Bins are 0.02 wide.")
