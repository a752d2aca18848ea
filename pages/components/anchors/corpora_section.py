"""The bundled corpora: their contents, loading one, and accepting its unflagged variants."""

import streamlit as st

from curation.corpora.corpus import Corpus
from curation.formatting import counted, duration
from curation.importing import corpora as loading
from curation.review.large_actions import undo_action
from curation.review.rules import apply_rule
from db.models import Run, RunState, Verdict
from db.runs import UNFINISHED
from pages.components.shared import page_runs
from pages.components.shared.shell import count_cache, current_user, open_project
from training.runs.kinds import kind_of

_MESSAGE, _ACCEPTED = "corpora-told", "corpora-accepted"
"""Session keys: a message shown once; corpus → the accepting action and its reviewer."""

_UNDO = "Press Z on the Review page or run 'hedgerow review undo' to undo it as one action."


def corpora() -> None:
    """Show every corpus with its actions."""
    st.caption(
        "These corpora come with Hedgerow. Load one to review its variants like any others. "
        "Variants that nobody has reviewed are pending."
    )
    counts = count_cache.CachedCounts()
    for state in open_project.ask(loading.corpora_states):
        with st.container(border=True, key=f"corpus-{state.corpus.id}"):
            _one(state, counts)
    counts.follow()


def _one(state: loading.CorpusState, counts: count_cache.CachedCounts) -> None:
    corpus, run = state.corpus, state.run
    st.header(corpus.source, anchor=False)
    st.text(corpus.about)
    st.text(f"{_here(state)} Licence: {corpus.licence}.")
    with st.expander("About this corpus", icon=":material/notes:"):
        # Without its title, and with smaller headings.
        st.markdown(corpus.readme.partition("\n")[2].replace("\n## ", "\n### "))
    if run is not None and run.state in UNFINISHED:
        page_runs.follow(run, title=f"Load {corpus.source}")
        return
    if run is not None:
        _ended(run)
    complete = bool(state.anchors) and (run is None or run.state == RunState.DONE)
    if not current_user.only_leads("load corpora"):
        return
    st.button(
        "Load new sentences" if complete else "Load",
        key=f"load-{corpus.id}",
        icon=":material/download:",
        type="secondary" if state.anchors else "primary",
        on_click=page_runs.ensure,
        args=(loading.KIND, loading.parameters(corpus)),
        help="Adds the sentences that are new in this version of Hedgerow. Your changes and "
        "decisions are kept."
        if state.anchors
        else f"Takes {duration(corpus.seconds)}. You can close the browser.",
    )
    if state.anchors:
        _accepting(corpus, counts)
    _message(corpus)


def _here(state: loading.CorpusState) -> str:
    if not state.anchors:
        return f"None of its {state.corpus.anchors:,} anchors is loaded."
    if state.anchors == state.corpus.anchors:
        return f"All of its {state.anchors:,} anchors are loaded."
    verb = "is" if state.anchors == 1 else "are"
    here = f"{state.anchors:,} of its {state.corpus.anchors:,} anchors {verb} loaded."
    if state.run is None or state.run.state != RunState.DONE:
        return here
    return f"{here} The others already existed, from another source."


def _ended(run: Run) -> None:
    """Report how the last load ended."""
    if run.state == RunState.DONE:
        if message := kind_of(run.kind).sum_up(run.result):
            st.text(message)
    elif run.state == RunState.CANCELLED:
        st.text(f"Run {run.id} was cancelled. What it has loaded is kept; Load adds the rest.")
    else:
        page_runs.stopped(run)


def _accepting(corpus: Corpus, counts: count_cache.CachedCounts) -> None:
    """Accept all unflagged variants with one click; the number is shown first."""
    number = counts.get(loading.count_unflagged, corpus.id)
    if number is None:
        st.caption("Counting variants without a flag.")
        return
    if not number:
        st.text("Every pending variant has a flag.")
        return
    verb = "is" if number == 1 else "are"
    st.text(f"{counted(number, 'pending variant')} {verb} unflagged: no check found a problem.")
    if current_user.reviewer_id() is None:
        with st.popover(f"Accept {number:,} variants", icon=":material/check:"):
            st.write("Decisions are stored under your name so that they can be undone.")
            current_user.name_form("Your name", key=f"signin-corpus-{corpus.id}")
    elif st.button(
        f"Accept {number:,} variants",
        key=f"accept-{corpus.id}",
        icon=":material/check:",
        help=f"Accepts the unflagged variants in your name. {_UNDO}",
    ):
        _accept(corpus, number)


def _accept(corpus: Corpus, number: int) -> None:
    reviewer_id = current_user.reviewer_id()
    assert reviewer_id is not None  # the button is only shown to a reviewer
    with st.spinner(f"Accepting {counted(number, 'variant')}."):
        done = apply_rule(
            open_project.engine(),
            loading.unflagged(corpus),
            verdict=Verdict.ACCEPT,
            reviewer_id=reviewer_id,
        )
    count_cache.forget()
    if done.action_id is not None:  # otherwise this is a second click
        st.session_state[_ACCEPTED] = (corpus.id, done.action_id, reviewer_id)
        message = f"Accepted {counted(done.matches.total, 'variant')} in your name. {_UNDO}"
        st.session_state[_MESSAGE] = (corpus.id, message)
    st.rerun()


def _message(corpus: Corpus) -> None:
    description_of, message = st.session_state.get(_MESSAGE, ("", ""))
    if description_of == corpus.id:
        st.text(message)
    if st.session_state.get(_ACCEPTED, ("",))[0] == corpus.id:
        st.button("Undo", key=f"undo-{corpus.id}", icon=":material/undo:", on_click=_undo)


def _undo() -> None:
    corpus_id, action_id, reviewer_id = st.session_state.pop(_ACCEPTED)
    undone = undo_action(open_project.engine(), action_id, reviewer_id=reviewer_id)
    count_cache.forget()
    message = f"Undid {counted(undone.decisions, 'acceptance')}. These variants are pending again."
    st.session_state[_MESSAGE] = (corpus_id, message)
