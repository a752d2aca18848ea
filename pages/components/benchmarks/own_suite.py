"""A suite in SemAntoNeg's manner of one's own sentences: made, read over, and kept as its data."""

from typing import Any

import pandas as pd
import streamlit as st

from curation.plurals import counted
from curation.release.freezing import release_numbers
from pages.components.shared.shell import error_messages, open_project
from training.benchmarks.data.sources import keep_data
from training.benchmarks.tasks.semantoneg import SemAntoNeg
from training.benchmarks.tasks.suite_sentences import Built, at_least_one_turned, build
from training.benchmarks.tasks.suites import lines_of, of_release, written, written_forms
from training.evaluation.semantoneg_questions import Forms

LONGEST = 200_000
"""Characters of sentences that can be typed in; a longer list is for the command line."""

_TEXT, _BUILT, _MADE = "bench-suite-text", "bench-suite-built", "bench-suite-made"


def draw(problem: str) -> None:
    """Of the newest release, or of sentences that are typed in.

    Args:
        problem: where what goes wrong is told.
    """
    with st.expander("Make a suite of your own sentences", icon=":material/edit_note:"):
        _of_release(problem)
        _of_sentences(problem)


def _of_release(problem: str) -> None:
    """The same questions about one's own anchors, where a release has all four forms of some."""
    numbers = open_project.ask(release_numbers)
    if numbers:
        st.button(
            f"Make one of release {numbers[0]}",
            key="bench-suite",
            on_click=_keep_release,
            args=(numbers[0], problem),
            help="In SemAntoNeg's manner, of the test split: anchors with a "
            "negation, an opposite, and both at once. A file with the columns "
            f"{', '.join(Forms._fields)} makes one, too.",
        )


def _of_sentences(problem: str) -> None:
    st.text_area(
        "Sentences with “not” before an adjective, one a line",
        key=_TEXT,
        max_chars=LONGEST,
        placeholder="The soup is not hot.",
        help="Made as SemAntoNeg was: without the negator, with the adjective's antonym out of "
        "WordNet, and both. A line with two sentences and a tab between them is a paraphrase pair, "
        "of which one sentence must be negated.",
    )
    st.button("Make the forms", key="bench-suite-turn", on_click=_turn, args=(problem,))


def read_over(problem: str) -> None:
    """The forms that were made, to correct and to use, and what gave none; else nothing.

    Args:
        problem: where what goes wrong is told.
    """
    built: Built | None = st.session_state.get(_BUILT)
    if built is not None:
        with st.container(border=True, key="bench-suite-made-forms"):
            _forms(built, problem)


def _forms(built: Built, problem: str) -> None:
    st.header("The forms of your sentences", anchor=False)
    st.caption(
        "Read them before you use them: an antonym may not fit its sentence. Correct a cell, or "
        "delete a row."
    )
    edited = st.data_editor(
        pd.DataFrame(built.forms, columns=list(Forms._fields)),
        num_rows="dynamic",
        hide_index=True,
        key=f"bench-suite-forms-{st.session_state.get(_MADE, 0)}",
    )
    st.button(
        "Use as data",
        key="bench-suite-use",
        type="primary",
        on_click=_keep_forms,
        args=(edited, problem),
    )
    if built.unturned:
        st.text(f"{counted(len(built.unturned), 'sentence')} could not be turned:")
        st.dataframe(
            [{"Sentence": one.sentence, "Reason": one.told} for one in built.unturned],
            hide_index=True,
            key="bench-suite-unturned",
        )


def _turn(problem: str) -> None:
    st.session_state.pop(_BUILT, None)
    with error_messages.kept_for(problem):
        built = at_least_one_turned(build(lines_of(str(st.session_state.get(_TEXT, "")))))
        st.session_state[_BUILT] = built
        st.session_state[_MADE] = st.session_state.get(_MADE, 0) + 1  # a table of its own


def _keep_release(number: int, problem: str) -> None:
    with error_messages.kept_for(problem):
        made = written(open_project.ask(of_release, number))
        _keep(f"release-{number}-suite.jsonl", made)


def _keep_forms(edited: pd.DataFrame, problem: str) -> None:
    with error_messages.kept_for(problem):
        rows: list[list[Any]] = edited.fillna("").to_numpy().tolist()
        forms = [Forms(*map(str, row)) for row in rows if any(str(cell).strip() for cell in row)]
        _keep("own-sentences.jsonl", written_forms(forms))
        st.session_state.pop(_BUILT, None)


def _keep(name: str, content: bytes) -> None:
    keep_data(open_project.settings().data_folder, SemAntoNeg.id, {name: content})
