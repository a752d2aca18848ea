"""Questions about a file of anchors: its source, which rows to add, and paired texts."""

from collections import Counter
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from curation.editing.attributes import MAX_GENRE, MAX_LANGUAGE
from curation.editing.own_types import CONTRADICTION, ENTAILMENT
from curation.importing.anchor_preview import Preview, RowStatus
from curation.importing.anchor_rows import MAX_LICENCE, MAX_SOURCE
from curation.importing.anchors import COLUMNS, FIELDS, Plan, attribute_columns
from curation.importing.labels import MEANINGS, LabelledTable
from curation.importing.originals import FAULTS, guess_columns
from curation.tables.table import PASTED
from pages.components.shared.formatting import plain

NAMELESS = "?"
"""Stands for the name of the source while it has none."""


ORIGINALS = {ENTAILMENT: "Entailment column", CONTRADICTION: "Contradiction column"}


def questions(name: str, *, key: str, has_genres: bool) -> dict[str, Any]:
    """Ask what applies to the whole file: fields of a request. The source may have no name yet.

    Args:
        name: name of the file.
        key: identifies the file among others.
        has_genres: whether a column gives each row its genre.
    """
    stem = "" if name == PASTED else name.rpartition(".")[0] or name
    first, second = st.columns(2)
    source = first.text_input(
        "Source",
        stem[:MAX_SOURCE],
        max_chars=MAX_SOURCE,
        key=f"anchors-source-{key}",
        placeholder="Source",
        help="For example a data set, a book or a person. You can filter by source.",
    )
    licence = second.text_input(
        "Licence",
        max_chars=MAX_LICENCE,
        key=f"anchors-licence-{key}",
        placeholder="For example CC BY 4.0",
        help="Included in every release. Leave empty to keep the licence of an existing source.",
    )
    first, second = st.columns(2)
    genre = first.text_input(
        "Genre for rows without one" if has_genres else "Genre",
        max_chars=MAX_GENRE,
        key=f"anchors-genre-{key}",
        placeholder="For example news",
    )
    language = second.text_input(
        "Language",
        "en",
        max_chars=MAX_LANGUAGE,
        key=f"anchors-language-{key}",
        help="A tag such as en or de-CH. The checks for negations, hedges and questions only "
        "work for English and are skipped for other languages.",
    )
    return {
        "source": source.strip(),
        "licence": licence.strip() or None,
        "genre": genre,
        "language": language.strip(),
    }


def rows_to_add(shown: Preview, ticked: set[int], *, key: str) -> dict[str, Any]:
    """Ask which rows to add: fields of a request.

    Args:
        ticked: lines of the suspicious rows that are added even if not all are.
    """
    new, suspicious = shown.statuses[RowStatus.NEW], shown.statuses[RowStatus.SUSPICIOUS]
    rows = "suspicious row" if suspicious == 1 else f"{suspicious:,} suspicious rows"
    include = bool(suspicious) and st.checkbox(f"Also add the {rows}", key=f"anchors-include-{key}")
    most = new + (suspicious if include else len(ticked))
    sampling = st.container(horizontal=True)
    size = sampling.number_input(
        "Sample size",
        width=220,
        min_value=1,
        max_value=max(most, 1),
        value=None,
        step=1,
        placeholder="All",
        key=f"anchors-sample-{key}-{most}",
        help="The sample keeps the proportions of lengths and genres. The same seed gives the "
        "same sample.",
    )
    seed = sampling.number_input(
        "Seed",
        width=160,
        min_value=0,
        max_value=2**31,
        value=0,
        step=1,
        key=f"anchors-seed-{key}",
        disabled=size is None,
    )
    return {
        "include_suspicious": include or frozenset(ticked),
        "sample": int(size) if size and most else None,
        "seed": int(seed),
    }


def columns(table: LabelledTable, place: DeltaGenerator, *, key: str) -> dict[str, str]:
    """Ask for the columns that their names do not show: fields of a request, '' for no column.

    Args:
        place: where the first questions go.

    Returns:
        Nothing while the column with the sentences is not known.
    """
    guessed = table.sentence_column()
    column = place.selectbox(
        "Sentence column",
        table.columns,
        index=table.columns.index(guessed) if guessed else None,
        placeholder="Choose one",
        key=f"anchors-column-{key}",
    )
    if column is None:
        return {}
    texts = [name for name in table.text_columns if name != column]
    others = [name for name in table.columns if name != column]

    def asked(
        label: str, choices: list[str], guess: str | None, at: DeltaGenerator, **more: Any
    ) -> str:
        chosen = at.selectbox(
            label,
            [None, *choices],
            index=1 + choices.index(guess) if guess in choices else 0,
            format_func=lambda name: "No column" if name is None else name,
            **more,
        )
        return chosen or ""

    shown, _ = attribute_columns(table, column, {})
    chosen_columns = {"column": column}
    if others:
        for name, label in COLUMNS.items():
            if name == "language":
                place = place.popover(
                    "More columns",
                    key="anchors-more-columns",
                    help="The columns with each row's language and split, and the ids of its "
                    "document and row. All sentences of a document get the same split.",
                )
            chosen_columns[FIELDS[name]] = asked(
                label, others, shown.get(name), place, key=f"anchors-{name}-column-{key}-{column}"
            )
    found = guess_columns(table, column)
    for type_id, at in zip(ORIGINALS, st.columns(2) if texts else (), strict=bool(texts)):
        chosen_columns[type_id] = asked(
            ORIGINALS[type_id],
            texts,
            found.get(type_id),
            at,
            key=f"anchors-{type_id}-{key}-{column}-{found.get(type_id)}",
            help="Sentences that the data set pairs with each anchor. They become its variants.",
        )
    return chosen_columns


def _meaning_key(key: str) -> str:
    return f"anchors-labels-{key}"


def known_meanings(key: str) -> dict[str, str]:
    """Label → its meaning, as answered."""
    answers: dict[str, str | None] = st.session_state.get(_meaning_key(key), {})
    return {label: meaning for label, meaning in answers.items() if meaning}


def meanings(table: LabelledTable, *, key: str) -> None:
    """Ask for the meanings of labels that we do not know. An answer reads the file again."""
    asked = st.session_state.setdefault(_meaning_key(key), {})
    for label in table.labels.unknown:
        asked.setdefault(label, None)
    if not asked:
        return
    usual = table.labels.usual()
    place = st.container(horizontal=True, key="filters-labels", vertical_alignment="bottom")
    for label in asked:
        place.selectbox(
            f"Label {plain(label)} means",
            MEANINGS,
            index=MEANINGS.index(asked[label]) if asked[label] else None,
            placeholder="Not known",
            key=f"{_meaning_key(key)}-{label}",
            width=200,
            on_change=_keep_meaning,
            args=(key, label),
        )
    if usual:
        place.button(
            "The usual meanings",
            key="anchors-usual-labels",
            help=", ".join(f"{label} is {meaning}" for label, meaning in usual.items()),
            on_click=_use_usual,
            args=(key, usual),
        )


def _keep_meaning(key: str, label: str) -> None:
    place = _meaning_key(key)
    st.session_state[place][label] = st.session_state[f"{place}-{label}"]


def _use_usual(key: str, usual: dict[str, str]) -> None:
    st.session_state[_meaning_key(key)] = dict(usual)
    for label, meaning in usual.items():
        st.session_state[f"{_meaning_key(key)}-{label}"] = meaning


def accept_originals(planned: Plan, *, key: str) -> tuple[int, bool]:
    """Report the paired texts, and ask whether to accept them as their data set labels them."""
    texts = planned.originals.paired_with(planned.rows)
    if not planned.columns.originals and not planned.originals_left_out:
        return 0, False
    counts = Counter(text.type_id for text in texts)
    amounts = " and ".join(
        f"{counts[kind]:,} {_many(kind, counts[kind])}" for kind in planned.columns.originals
    )
    left_out = planned.originals_left_out.items()
    left = "; ".join(f"{count:,} {FAULTS[fault]}" for fault, count in left_out)
    st.text(f"Paired texts: {amounts or 'none'}." + (f" Left out: {left}." if left else ""))
    accept = st.checkbox(
        "Accept these with the labels of their data set",
        key=f"anchors-accept-{key}",
        disabled=not texts,
        help="Otherwise they are pending until somebody reviews them. A person's verdict "
        "outranks the label.",
    )
    return len(texts), accept


def _many(kind: str, count: int) -> str:
    return kind if count == 1 else f"{kind}s"
