"""Giveaways: how well a variant's class is predicted without its anchor, and from which words."""

from collections.abc import Mapping, Sequence

import streamlit as st

from curation.diagnostics import giveaways
from curation.diagnostics.side_guessing import Guess, Ngram, Score
from curation.formatting import counted
from db.models import Run
from db.runs import STOPPED, UNFINISHED
from pages.components.diagnostics.scope_of_page import REVIEWED, PageView
from pages.components.shared import formatting, links, page_runs, tables
from pages.components.shared.shell import current_user, open_project

GUESSES = {"Polarity": "polarity", "Type": "type"}

POLARITIES = {"negative": "Negative", "neutral": "Neutral", "positive": "Positive"}

GROUPS = {"type": "Type", "source": "Source", "provider": "Provider"}

WIDTH = 720
"""Width of the n-gram table in pixels, if the window is wide enough."""

COLUMNS = (3.0, 1.3, 1.3, 1.3)
"""Column widths of the n-gram table: n-gram, variants, share, negator."""


def draw(view: PageView) -> None:
    """Show the section."""
    st.text(
        "Can the class of a variant be predicted without its anchor? To test this, Hedgerow "
        "trains a classifier on n-grams of one to three words. It never sees an anchor, and no "
        "anchor has variants in both the training and the test data. Giveaways are the n-grams "
        "that reveal the class."
    )
    st.caption(
        "This uses all accepted and pending variants, regardless of the types and status chosen "
        "above. It leaves out variants that are rejected, in conflict or superseded."
    )
    source_id = view.scope.source_id
    last = open_project.ask(giveaways.last, source_id)
    found = open_project.ask(giveaways.newest, source_id)
    if last is not None and last.state in UNFINISHED:
        page_runs.follow(last)
    else:
        _offer(found, last, giveaways.parameters(source_id))
    if found is not None:
        _result(view, found)


@current_user.for_leads("look for giveaways")
def _offer(found: Run | None, last: Run | None, wanted: dict[str, int]) -> None:
    """Report how the last run ended, and show the button that starts a new one."""
    if last is not None and last.state in STOPPED:
        page_runs.stopped(last)
    button = "Find giveaways" if found is None else "Search again"
    if st.button(
        button,
        key="look-for-giveaways",
        icon=":material/search:",
        help="This runs in the background and takes about a minute for 90,000 variants.",
    ):
        page_runs.ensure(giveaways.KIND, wanted)
        st.rerun()


def _result(view: PageView, run: Run) -> None:
    ended = run.finished_at
    moment = f", {formatting.local(ended):%Y-%m-%d %H:%M}" if ended else ""
    changed = run.result["data"] != open_project.ask(giveaways.data_state, view.scope.source_id)
    st.text(
        f"Run {run.id}{moment}: {counted(run.result['records'], 'variant')} of "
        f"{counted(run.result['anchors'], 'anchor')}. "
        + (
            "Variants have been added, rejected or restored since then. Search again."
            if changed
            else "The data has not changed since then."
        )
    )
    st.session_state.setdefault("guess", "Polarity")
    chosen = st.segmented_control(
        "Guess", list(GUESSES), key="guess", required=True, bind="query-params"
    )
    what = GUESSES[chosen or "Polarity"]
    guess = giveaways.guess_of(run.result, what)
    labels = view.labels | open_project.type_names()
    _scores(guess, labels)
    _meaning(guess, labels)
    _telling(guess, what, POLARITIES if what == "polarity" else labels, view.scope.source_id)


def _scores(guess: Guess, labels: Mapping[str, str]) -> None:
    st.header("Accuracy", anchor=False)
    st.text(
        f"Accuracy on all variants: {guess.total.accuracy:.1%}. Always predicting the most "
        f"frequent class gives {guess.total.chance:.1%}."
    )
    for by, title in GROUPS.items():
        _table(title, guess.by[by], labels if by == "type" else {})
    st.caption(
        "Chance is the share of the most frequent class for a source or a provider, and the "
        "share of its class among all variants for a type."
    )


def _table(title: str, scores: Sequence[Score], names: Mapping[str, str]) -> None:
    place = {name: at for at, name in enumerate(names)}
    small = st.column_config.NumberColumn(width="small")
    rows = [
        {
            title: names.get(score.name, score.name),
            "Variants": score.records,
            "Accuracy": score.accuracy,
            "Chance": score.chance,
            "Above": score.accuracy - score.chance,
        }
        for score in sorted(scores, key=lambda score: place.get(score.name, len(place)))
    ]
    st.dataframe(
        tables.percentages(rows, "Accuracy", "Chance", "Above"),
        hide_index=True,
        height="content",
        key=f"giveaways-{title}",
        column_config={
            "Variants": st.column_config.NumberColumn(format="localized", width="small"),
            **dict.fromkeys(("Accuracy", "Chance"), small),
            "Above": st.column_config.NumberColumn(width="small", help="Accuracy minus chance."),
        },
    )


def _meaning(guess: Guess, labels: Mapping[str, str]) -> None:
    """Explain the figures, and name the types that need attention."""
    st.header("Interpretation", anchor=False)
    st.text(
        "Verbal and absolute negations contain a negator and hedges contain their cue, so they "
        "are predictable by definition. Check types that need no such word (lexical and affixal "
        "negations, free hedges, paraphrases). If they are predicted well above chance from "
        "words unrelated to negation, a model can learn those words instead of comparing the "
        "variant with its anchor."
    )
    found = giveaways.suspects(guess.by["type"], open_project.every_type())
    if not found:
        st.text("No such type is predicted well above chance.")
        return
    listed = ", ".join(
        f"{labels.get(score.name, score.name)} ({score.accuracy:.0%}, chance {score.chance:.0%})"
        for score in found
    )
    st.text(
        f"Check these types, which are at least {giveaways.WELL_ABOVE * 100:.0f} points above "
        f"chance without a defining word: {listed}."
    )


def _telling(guess: Guess, what: str, names: Mapping[str, str], source_id: int | None) -> None:
    st.header("Predictive words", anchor=False)
    classes = sorted(guess.telling, key=lambda name: ([*names, name].index(name), name))
    chosen = st.selectbox(
        "Class",
        classes,
        format_func=lambda name: names.get(name, name),
        key=f"class-{what}",
    )
    if chosen is None or not guess.telling[chosen]:
        st.text("No word predicts this class.")
        return
    st.caption(
        "The most predictive words come first. Select one to review the variants that contain "
        "it; those of the class come first."
    )
    with st.container(key="telling", gap="xsmall", width=WIDTH):
        for place, text in zip(
            st.columns(COLUMNS), ("Words", "Variants", "Share in class", ""), strict=True
        ):
            place.caption(text)
        for ngram in guess.telling[chosen]:
            _row(ngram, what, chosen, names.get(chosen, chosen), source_id)


def _row(ngram: Ngram, what: str, of_class: str, name: str, source_id: int | None) -> None:
    button, records, share, negator = st.columns(COLUMNS, vertical_alignment="center")
    clicked = button.button(
        formatting.plain(ngram.text), key=f"telling-{what}-{of_class}-{ngram.text}"
    )
    records.text(f"{ngram.records:,}")
    share.text(f"{ngram.share:.0%}")
    negator.text("negator" if ngram.negator else "")
    if not clicked:
        return
    types = [
        entry.id
        for entry in open_project.every_type().values()
        if of_class == (entry.polarity if what == "polarity" else entry.id)
    ]
    ids = open_project.ask(
        giveaways.variants_with, ngram.text, types=types, limit=REVIEWED, source_id=source_id
    )
    if ids:
        part = f", the first {REVIEWED:,}" if len(ids) == REVIEWED else ""
        links.open_in_review(ids, f"Diagnostics: “{ngram.text}”, {name} first{part}")
    st.text("No accepted or pending variant contains these words any more.")
