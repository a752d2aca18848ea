"""Giveaways: how well the side of a variant is guessed without its anchor, and by what words."""

from collections.abc import Mapping, Sequence

import streamlit as st

from curation.diagnostics import giveaways
from curation.diagnostics.giveaways import KIND
from curation.diagnostics.side_guessing import Guess, Ngram, Score
from curation.plurals import counted
from db.models import Run
from db.runs import STOPPED, UNFINISHED
from pages.components.diagnostics.scope_of_page import REVIEWED, PageView
from pages.components.shared.formatting import clock, label
from pages.components.shared.runs import background, progress_view
from pages.components.shared.shell import open_project, rights
from pages.components.shared.variants.picked_variants import open_in_review

GUESSES = {"Polarity": "polarity", "Type": "type"}

POLARITIES = {"negative": "Negative", "neutral": "Neutral", "positive": "Positive"}

GROUPS = {"type": "Type", "source": "Source", "provider": "Provider"}

WIDTH = 720
"""Pixels of the table of n-grams, where the window is wide enough."""

COLUMNS = (3.0, 1.3, 1.3, 1.3)
"""Widths of the table of n-grams: n-gram, variants, share, negator."""


def draw(view: PageView) -> None:
    """The whole section."""
    st.text(
        "Does a variant betray its side without its anchor? A classifier reads one to three words "
        "at a time and guesses. It never sees an anchor, and it guesses only variants of anchors "
        "that it was not trained on."
    )
    st.caption(
        "All accepted and pending variants count, whatever types and status are chosen above. "
        "Variants that are rejected, in conflict or replaced by an edit don't."
    )
    source_id = view.scope.source_id
    last = open_project.ask(giveaways.last, source_id)
    found = open_project.ask(giveaways.newest, source_id)
    if last is not None and last.state in UNFINISHED:
        progress_view.follow(last)
    else:
        _offer(found, last, giveaways.parameters(source_id))
    if found is not None:
        _result(view, found)


@rights.for_leads("look for giveaways")
def _offer(found: Run | None, last: Run | None, wanted: dict[str, int]) -> None:
    """The button that starts a run with these parameters, after what became of the last one."""
    if last is not None and last.state in STOPPED:
        progress_view.stopped(last)
    told = "Look for giveaways" if found is None else "Look again"
    if st.button(
        told,
        key="look-for-giveaways",
        icon=":material/search:",
        help="Takes about a minute for 90,000 variants, in the background.",
    ):
        background.ensure(KIND, wanted)
        st.rerun()


def _result(view: PageView, run: Run) -> None:
    changed = run.result["data"] != open_project.ask(giveaways.data_state, view.scope.source_id)
    st.text(
        f"Run {run.id}{_moment(run)}: {counted(run.result['records'], 'variant')} of "
        f"{counted(run.result['anchors'], 'anchor')}. "
        + (
            "Variants have been added, rejected or restored since then: look again."
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


def _moment(run: Run) -> str:
    return f", {clock.local(run.finished_at):%Y-%m-%d %H:%M}" if run.finished_at else ""


def _scores(guess: Guess, labels: Mapping[str, str]) -> None:
    st.header("How often the guess is right", anchor=False)
    st.text(
        f"All variants: {guess.total.accuracy:.1%}. Naming the most frequent class every time is "
        f"right in {guess.total.chance:.1%}."
    )
    for by, title in GROUPS.items():
        names = labels if by == "type" else {}
        _table(title, guess.by[by], names)
    st.caption(
        "Chance, of a source or a provider: the share of its most frequent class. Chance, of a "
        "type: the share of its class among all variants."
    )


def _table(title: str, scores: Sequence[Score], names: Mapping[str, str]) -> None:
    place = {name: at for at, name in enumerate(names)}
    share = st.column_config.NumberColumn(format="percent", width="small")
    st.dataframe(
        [
            {
                title: names.get(score.name, score.name),
                "Variants": score.records,
                "Accuracy": round(score.accuracy, 3),
                "Chance": round(score.chance, 3),
                "Above": round(score.accuracy - score.chance, 3),
            }
            for score in sorted(scores, key=lambda score: place.get(score.name, len(place)))
        ],
        hide_index=True,
        height="content",
        key=f"giveaways-{title}",
        column_config={
            "Variants": st.column_config.NumberColumn(format="localized", width="small"),
            **dict.fromkeys(("Accuracy", "Chance"), share),
            "Above": st.column_config.NumberColumn(
                format="percent", width="small", help="Accuracy minus chance."
            ),
        },
    )


def _meaning(guess: Guess, labels: Mapping[str, str]) -> None:
    """How to read the figures, and the types that call for a look."""
    st.header("What it means", anchor=False)
    st.text(
        "A verbal or absolute negation carries a negator and a hedge its cue: these are guessed by "
        "definition. What should worry you is a type that needs no such word, such as a lexical "
        "or affixal negation, a hedge in free words or a paraphrase, and is guessed well above "
        "chance by words that have nothing to do with negation. A model can then learn those "
        "words instead of comparing the variant with its anchor."
    )
    found = giveaways.suspects(guess.by["type"], open_project.every_type())
    if not found:
        st.text("No type that needs no such word is guessed well above chance.")
        return
    told = ", ".join(
        f"{labels.get(score.name, score.name)} ({score.accuracy:.0%}, chance {score.chance:.0%})"
        for score in found
    )
    st.text(
        f"Worth a look, at least {giveaways.WELL_ABOVE * 100:.0f} points above chance without a "
        f"word that defines it: {told}."
    )


def _telling(guess: Guess, what: str, names: Mapping[str, str], source_id: int | None) -> None:
    st.header("Telling words", anchor=False)
    classes = sorted(guess.telling, key=lambda name: ([*names, name].index(name), name))
    chosen = st.selectbox(
        "Class",
        classes,
        format_func=lambda name: names.get(name, name),
        key=f"class-{what}",
    )
    if chosen is None or not guess.telling[chosen]:
        st.text("No word tells this class.")
        return
    st.caption(
        "The most telling first. Choose one to review the variants that have it, those of the "
        "class first."
    )
    with st.container(key="telling", gap="xsmall", width=WIDTH):
        for place, text in zip(
            st.columns(COLUMNS), ("Words", "Variants with it", "Of the class", ""), strict=True
        ):
            place.caption(text)
        for ngram in guess.telling[chosen]:
            _row(ngram, what, chosen, names.get(chosen, chosen), source_id)


def _row(ngram: Ngram, what: str, of_class: str, name: str, source_id: int | None) -> None:
    button, records, share, negator = st.columns(COLUMNS, vertical_alignment="center")
    clicked = button.button(label.plain(ngram.text), key=f"telling-{what}-{of_class}-{ngram.text}")
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
        open_in_review(ids, f"Diagnostics: “{ngram.text}”, {name} first{part}")
    st.text("No accepted or pending variant has these words any more.")
