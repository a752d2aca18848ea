"""A suite like SemAntoNeg from the user's own sentences: create, proofread and store it."""

from typing import Any

import pandas as pd
import streamlit as st

from curation.formatting import counted
from curation.release.freezing import release_numbers
from pages.components.shared.shell import error_messages, open_project
from training.benchmarks.data.sources import keep_data
from training.benchmarks.tasks.semantoneg import SemAntoNeg
from training.benchmarks.tasks.suite_sentences import Built, at_least_one_turned, build
from training.benchmarks.tasks.suites import lines_of, of_release, written, written_forms
from training.evaluation.semantoneg_questions import Forms

LONGEST = 200_000
"""Most characters that can be typed in; use the command line for a longer list."""

_TEXT, _BUILT, _MADE = "bench-suite-text", "bench-suite-built", "bench-suite-made"


def draw(problem: str) -> None:
    """A suite from the newest release, or from typed sentences.

    Args:
        problem: key of the place that shows errors.
    """
    with st.expander("Create a suite from your own sentences", icon=":material/edit_note:"):
        _of_release(problem)
        _of_sentences(problem)


def _of_release(problem: str) -> None:
    """The same questions about the release's anchors that have all four forms."""
    numbers = open_project.ask(release_numbers)
    if numbers:
        st.button(
            f"Create from release {numbers[0]}",
            key="bench-suite",
            on_click=_keep_release,
            args=(numbers[0], problem),
            help="A suite like SemAntoNeg from the test split: anchors with a negation, an "
            "antonym, and a negated antonym. You can also upload a file with the columns "
            f"{', '.join(Forms._fields)}.",
        )


def _of_sentences(problem: str) -> None:
    st.text_area(
        "Sentences with “not” before an adjective, one per line",
        key=_TEXT,
        max_chars=LONGEST,
        placeholder="The soup is not hot.",
        help="Builds the same forms as SemAntoNeg: without the negator, with the adjective's "
        "antonym from WordNet, and both. A line with two tab-separated sentences is a "
        "paraphrase pair, of which one must be negated.",
    )
    st.button("Create forms", key="bench-suite-turn", on_click=_turn, args=(problem,))


def read_over(problem: str) -> None:
    """The forms to proofread and use, and the sentences without forms; nothing before they exist.

    Args:
        problem: key of the place that shows errors.
    """
    built: Built | None = st.session_state.get(_BUILT)
    if built is not None:
        with st.container(border=True, key="bench-suite-made-forms"):
            _forms(built, problem)


def _forms(built: Built, problem: str) -> None:
    st.header("The forms of your sentences", anchor=False)
    st.caption(
        "Proofread the forms: an antonym may not fit its sentence. Correct cells or delete rows."
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
        st.text(f"No forms for {counted(len(built.unturned), 'sentence')}:")
        st.dataframe(
            [{"Sentence": one.sentence, "Reason": one.description} for one in built.unturned],
            hide_index=True,
            key="bench-suite-unturned",
        )


def _turn(problem: str) -> None:
    st.session_state.pop(_BUILT, None)
    with error_messages.kept_for(problem):
        built = at_least_one_turned(build(lines_of(str(st.session_state.get(_TEXT, "")))))
        st.session_state[_BUILT] = built
        st.session_state[_MADE] = st.session_state.get(_MADE, 0) + 1  # a new table


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
