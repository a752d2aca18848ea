"""What is asked about a file of anchors: where it is from, which rows, which texts beside them."""

import streamlit as st

from curation.anchors.attributes import MAX_GENRE, MAX_LANGUAGE
from curation.anchors.importing.file_table import FileTable
from curation.anchors.importing.formats import PASTED
from curation.anchors.importing.insert import MAX_LICENCE, MAX_SOURCE, About
from curation.anchors.importing.nli_texts import FAULTS, Originals, guess_columns
from curation.anchors.importing.preview import Fate, FileRow, Preview
from curation.taxonomy.nli_types import CONTRADICTION, ENTAILMENT

ORIGINALS = {ENTAILMENT: "Entailments in", CONTRADICTION: "Contradictions in"}


def questions(name: str, *, key: str, has_genres: bool) -> About | None:
    """What is said once of the file; None while the source has no name.

    Args:
        name: of the file.
        key: tells it from other files.
        has_genres: whether a column gives rows their own.
    """
    stem = "" if name == PASTED else name.rpartition(".")[0] or name
    first, second = st.columns(2)
    source = first.text_input(
        "Source",
        stem[:MAX_SOURCE],
        max_chars=MAX_SOURCE,
        key=f"anchors-source-{key}",
        placeholder="Where they come from",
        help="A data set, a book, a person. Anchors of one source are told apart by it.",
    )
    licence = second.text_input(
        "Licence",
        max_chars=MAX_LICENCE,
        key=f"anchors-licence-{key}",
        placeholder="Such as CC BY 4.0",
        help="Every release repeats it. Left empty, that of the source if it is there already.",
    )
    first, second = st.columns(2)
    genre = first.text_input(
        "Genre of rows without one" if has_genres else "Genre",
        max_chars=MAX_GENRE,
        key=f"anchors-genre-{key}",
        placeholder="Such as news",
    )
    language = second.text_input(
        "Language",
        "en",
        max_chars=MAX_LANGUAGE,
        key=f"anchors-language-{key}",
        help="A tag such as en or de-CH. The checks for negations, hedges and questions know "
        "English only and are left out for others.",
    )
    if not source.strip():
        return None
    return About(source, licence.strip() or None, genre, language.strip())


def rows_to_add(shown: Preview, *, key: str) -> tuple[bool, int, int]:
    """Whether suspicious rows count, the size of the sample (0: all), and its seed."""
    new, suspicious = shown.fates[Fate.NEW], shown.fates[Fate.SUSPICIOUS]
    include = bool(suspicious) and st.checkbox(
        f"Add the {suspicious:,} suspicious ones, too", key=f"anchors-include-{key}"
    )
    most = new + (suspicious if include else 0)
    sampling = st.container(horizontal=True)
    size = sampling.number_input(
        "Sample of",
        width=220,
        min_value=1,
        max_value=max(most, 1),
        value=None,
        step=1,
        placeholder="All",
        key=f"anchors-sample-{key}-{most}",
        help="Drawn in proportion to lengths and genres, the same for the same seed.",
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
    """Type id → the column chosen for the entailments, the contradictions.

    Args:
        sentence: the column with the anchors.
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
            help="Sentences that the data set has for each anchor; they become its variants.",
        )
        if column is not None:
            chosen[type_id] = column
    return chosen


def accept_originals(originals: Originals, rows: list[FileRow], *, key: str) -> tuple[int, bool]:
    """What comes beside these rows, and whether to accept it as its data set labels it."""
    texts = originals.of(rows)
    if not originals.columns:
        return 0, False
    counts = {kind: sum(text.type_id == kind for text in texts) for kind in originals.columns}
    said = " and ".join(f"{count:,} {_many(kind, count)}" for kind, count in counts.items())
    left = "; ".join(f"{count:,} {FAULTS[fault]}" for fault, count in originals.left_out.items())
    st.text(f"Beside them: {said}." + (f" Left out: {left}." if left else ""))
    accept = st.checkbox(
        "Accept these as their data set labels them",
        key=f"anchors-accept-{key}",
        disabled=not texts,
        help="Otherwise they are pending, to be reviewed. A person's verdict outranks the label.",
    )
    return len(texts), accept


def _many(kind: str, count: int) -> str:
    return kind if count == 1 else f"{kind}s"
