"""Questions about a file of anchors: its source, which rows to add, and paired texts."""

import streamlit as st

from curation.anchors.attributes import MAX_GENRE, MAX_LANGUAGE
from curation.anchors.importing.file_table import FileTable
from curation.anchors.importing.formats import PASTED
from curation.anchors.importing.insert import MAX_LICENCE, MAX_SOURCE, About
from curation.anchors.importing.nli_texts import FAULTS, Originals, guess_columns
from curation.anchors.importing.preview import Fate, FileRow, Preview
from curation.taxonomy.nli_types import CONTRADICTION, ENTAILMENT

ORIGINALS = {ENTAILMENT: "Entailment column", CONTRADICTION: "Contradiction column"}


def questions(name: str, *, key: str, has_genres: bool) -> About | None:
    """Ask what applies to the whole file; None while the source has no name.

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
    if not source.strip():
        return None
    return About(source, licence.strip() or None, genre, language.strip())


def rows_to_add(shown: Preview, *, key: str) -> tuple[bool, int, int]:
    """Whether to add suspicious rows, the sample size (0: all), and the seed."""
    new, suspicious = shown.fates[Fate.NEW], shown.fates[Fate.SUSPICIOUS]
    rows = "suspicious row" if suspicious == 1 else f"{suspicious:,} suspicious rows"
    include = bool(suspicious) and st.checkbox(f"Also add the {rows}", key=f"anchors-include-{key}")
    most = new + (suspicious if include else 0)
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
    return include, int(size or 0) if most else 0, int(seed)


def original_columns(table: FileTable, sentence: str, *, key: str) -> dict[str, str]:
    """Type id → column chosen for the entailments or contradictions.

    Args:
        sentence: column with the anchors.
    """
    others = [name for name in table.text_columns if name != sentence]
    if not others:
        return {}
    guessed = guess_columns(table, sentence)
    chosen: dict[str, str] = {}
    for type_id, place in zip(ORIGINALS, st.columns(2), strict=True):
        column = place.selectbox(
            ORIGINALS[type_id],
            [None, *others],
            index=1 + others.index(guessed[type_id]) if type_id in guessed else 0,
            format_func=lambda name: "No column" if name is None else name,
            key=f"anchors-{type_id}-{key}-{sentence}",
            help="Sentences that the data set pairs with each anchor. They become its variants.",
        )
        if column is not None:
            chosen[type_id] = column
    return chosen


def accept_originals(originals: Originals, rows: list[FileRow], *, key: str) -> tuple[int, bool]:
    """Report the paired texts, and ask whether to accept them as their data set labels them."""
    texts = originals.of(rows)
    if not originals.columns:
        return 0, False
    counts = {kind: sum(text.type_id == kind for text in texts) for kind in originals.columns}
    amounts = " and ".join(f"{count:,} {_many(kind, count)}" for kind, count in counts.items())
    left = "; ".join(f"{count:,} {FAULTS[fault]}" for fault, count in originals.left_out.items())
    st.text(f"Paired texts: {amounts}." + (f" Left out: {left}." if left else ""))
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
