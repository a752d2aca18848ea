"""The tables of an export: their columns, and their rows from a release."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from sqlalchemy import Row, func, inspect, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.release.question_pairs import Arm, QuestionPair, question_pairs
from curation.release.triples import BATCH, Family, families, triple_rows, triples_of, uid_order
from curation.taxonomy.project_types import all_types
from curation.taxonomy.surface_check import ROLES, Role, role_of
from db.columns import limited_to
from db.models import Polarity, Release, ReleaseItem, Split

StoredTable = Literal["triples", "variants", "families", "pairs"]
"""A table that is the same for every reader."""

QuestionTable = Literal["messages", "completion", "openai"]
"""A table of question pairs, which depends on the arm."""

Table = StoredTable | QuestionTable

TABLES_OF: dict[str, tuple[Table, ...]] = {
    "hf": ("triples", "variants", "families"),
    "jsonl": ("triples", "variants", "families"),
    "pairs": ("pairs",),
    "messages": ("messages",),
    "completion": ("completion",),
    "openai": ("openai",),
}
"""The tables that each built-in format contains."""

TEXTS = "texts"
"""The ``dtype`` of columns with lists of texts."""

MESSAGES = "messages"
"""The ``dtype`` of columns with chats: lists of messages with a role and content."""


PIECE = 1_000
"""About this many variants are read at a time. Families are never split."""


class TableColumn(NamedTuple):
    """A column of an exported table. ``dtype`` is as in ``datasets.Value``, or `TEXTS`."""

    name: str
    meaning: str
    dtype: str = "string"


_SPLIT = TableColumn("split", "train, validation or test; the same for all variants of an anchor")
_UIDS = (
    TableColumn("anchor_uid", "content uid of the anchor, the same in every export"),
    TableColumn("variant_uid", "content uid of the variant"),
)
_TYPE = TableColumn("type", "variant type, see the taxonomy")
_POLARITY = TableColumn(
    "polarity",
    "negative: contradicts the anchor; neutral: leaves its claim open; positive: same proposition",
)
_CUE = TableColumn(
    "cue",
    "the requested hedge cue, in the paper's spelling, or the frame of a rule; else empty",
)

_CHAT = TableColumn(
    "messages",
    "a user's question, and an assistant's answer: Yes or No, nothing else",
    MESSAGES,
)

_FAMILY_COLUMNS: dict[str, Role] = {
    "paraphrases": "paraphrase",
    "hedges": "hedge",
    "unsupported": "unsupported",
    "negations": "negation",
}
"""The columns with an anchor's variants, by role. `training.losses` reads them."""

TABLES: dict[Table, tuple[TableColumn, ...]] = {
    "triples": (
        TableColumn("anchor", "an affirmative sentence"),
        TableColumn("positive", "an accepted variant that says the same proposition"),
        TableColumn("negative", "an accepted variant that contradicts the anchor"),
        TableColumn("positive_type", "variant type of the positive"),
        TableColumn("negative_type", "variant type of the negative"),
        TableColumn(
            "positive_cue", "the positive's cue: its hedge cue, or the frame of a rule; else empty"
        ),
        _SPLIT,
        _UIDS[0],
        TableColumn("positive_uid", "content uid of the positive"),
        TableColumn("negative_uid", "content uid of the negative"),
    ),
    "variants": (
        TableColumn("anchor", "the affirmative sentence at the time of the release"),
        TableColumn("text", "the variant"),
        *(_TYPE, _POLARITY, _CUE, _SPLIT),
        TableColumn("genre", "genre of the anchor"),
        TableColumn("language", "language tag of the anchor"),
        TableColumn("source", "where the anchor came from"),
        TableColumn("licence", "licence of the source"),
        TableColumn("document_id", "id of the anchor's document in its source; else empty"),
        TableColumn("row_id", "id of the anchor's row in the file of its source; else empty"),
        *_UIDS,
        TableColumn("parent_uid", "uid of the variant that this one is an edit of; else empty"),
        TableColumn(
            "anchor_revision", "anchor revision for which the text was written, from 1", "int32"
        ),
        TableColumn("provider", "service of the model that wrote the text"),
        TableColumn("model", "the model that wrote the text"),
        TableColumn("prompt", "name and version of the prompt"),
        TableColumn("edited_by", "person or model, if the text was edited; else empty"),
        TableColumn("decided_by", "person, rule or model that accepted it"),
        TableColumn("persons", "number of people who accepted it", "int32"),
        TableColumn("models", "number of models that accepted it", "int32"),
        TableColumn("adjudicated", "whether a disagreement was settled by an adjudication", "bool"),
    ),
    "families": (
        TableColumn("anchor", "the affirmative sentence at the time of the release"),
        *(
            TableColumn(name, f"list of texts; each {ROLES[role].does}", TEXTS)
            for name, role in _FAMILY_COLUMNS.items()
        ),
        _SPLIT,
        TableColumn("source", "where the anchor came from"),
        _UIDS[0],
    ),
    "pairs": (
        TableColumn("sentence1", "the anchor"),
        TableColumn("sentence2", "the variant"),
        TableColumn("label", "1: same proposition; 0: contradiction", "int32"),
        *(_TYPE, _POLARITY, _CUE, _SPLIT),
        *_UIDS,
    ),
    "messages": (_CHAT, _TYPE, _SPLIT, *_UIDS),
    "completion": (
        TableColumn("prompt", "the question, ending with 'Answer:'"),
        TableColumn("completion", "the answer, ' Yes' or ' No', with a leading space"),
        *(_TYPE, _SPLIT, *_UIDS),
    ),
    "openai": (_CHAT,),
}
"""Maps each table to its columns, in the order of the exported rows."""


QUESTIONS: Mapping[str, Callable[[QuestionPair], tuple[Any, ...]]] = MappingProxyType(
    {
        "messages": lambda pair: (_chat(pair), *_origin(pair)),
        "completion": lambda pair: (pair.prompt, f" {pair.answer}", *_origin(pair)),
        "openai": lambda pair: (_chat(pair),),
    }
)
"""How each table of question pairs formats one."""


Rows = Mapping[Table, Mapping[str, int]]
"""Table → split → number of rows."""


def parquet_path(table: Table, split: str) -> str:
    """Return the path of a table's split in the Hugging Face format, relative to the export."""
    return f"{table}/{split}.parquet"


def read_table(
    session: Session,
    release_id: int,
    table: Table,
    *,
    split: Split | None = None,
    arm: Arm = "both",
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table for a release, or for one of its splits, by content uid.

    Values are in the order of ``TABLES[table]``.

    Args:
        arm: for a table of question pairs.
    """
    if table in QUESTIONS:
        return map(QUESTIONS[table], question_pairs(session, release_id, split=split, arm=arm))
    if table == "triples":
        return triple_rows(session, release_id, split=split)
    if table == "families":
        return _family_rows(session, families(session, release_id, split=split))
    return _rows(table, _items(session, release_id, split=split))


def cut(session: Session, release_id: int) -> "list[array[int]]":
    """Split the ids of a release's items into pieces of whole families, by content uid.

    A release never changes, so its pieces can be read one at a time, each in its own session. An id
    takes 8 bytes.
    """
    query = (
        select(col(ReleaseItem.anchor_uid), col(ReleaseItem.id))
        .where(col(ReleaseItem.release_id) == release_id)
        .order_by(*uid_order(session))
        .execution_options(yield_per=BATCH)
    )
    pieces: list[array[int]] = []
    for _, family in groupby(session.execute(query), key=itemgetter(0)):
        if not pieces or len(pieces[-1]) >= PIECE:
            pieces.append(array("q"))
        pieces[-1].extend(item_id for _, item_id in family)
    return pieces


def read_piece(
    session: Session, release_id: int, table: StoredTable, ids: Sequence[int]
) -> Iterator[tuple[Any, ...]]:
    """Like ``read_table``, for one piece from ``cut``.

    The session may be closed before it is used.
    """
    if table in ("triples", "families"):
        read = list(families(session, release_id, ids=list(ids)))
        if table == "families":
            return _family_rows(session, read)
        return chain.from_iterable(map(triples_of, read))
    return _rows(table, iter(list(_items(session, release_id, ids=list(ids)))))


def count_rows(session: Session, release: Release, table: Table) -> dict[str, int]:
    """Return split → number of rows of the table, for splits that have any.

    Not for question pairs.
    """
    if table == "pairs":
        query = (
            select(col(ReleaseItem.split), func.count())
            .where(
                col(ReleaseItem.release_id) == release.id,
                col(ReleaseItem.polarity) != Polarity.NEUTRAL,
            )
            .group_by(col(ReleaseItem.split))
        )
        found = {split.value: count for split, count in session.execute(query)}
    else:
        key = "anchors" if table == "families" else table
        found = {split: counts[key] for split, counts in release.summary["splits"].items()}
    return {split.value: found[split] for split in Split if found.get(split)}


_Item = Row[*tuple[Any, ...]]


def _chat(pair: QuestionPair) -> list[dict[str, str]]:
    return [
        {"role": "user", "content": pair.prompt},
        {"role": "assistant", "content": pair.answer},
    ]


def _origin(pair: QuestionPair) -> tuple[Any, ...]:
    return pair.type, pair.split, pair.anchor_uid, pair.variant_uid


def _rows(table: Table, items: Iterator[_Item]) -> Iterator[tuple[Any, ...]]:
    if table == "variants":
        return map(_variant, items)
    return (_pair(item) for item in items if item.polarity != Polarity.NEUTRAL)


def _items(
    session: Session,
    release_id: int,
    *,
    split: Split | None = None,
    ids: Sequence[int] | None = None,
) -> Iterator[_Item]:
    query = (
        select(*inspect(ReleaseItem).columns)
        .where(
            col(ReleaseItem.release_id) == release_id,
            limited_to(col(ReleaseItem.split), split),
            limited_to(col(ReleaseItem.id), ids),
        )
        .order_by(*uid_order(session))
        .execution_options(yield_per=BATCH)
    )
    return iter(session.execute(query))


def _variant(item: _Item) -> tuple[Any, ...]:
    origin = item.provenance
    return (
        *(item.anchor, item.text, item.type_id, item.polarity, item.cue, item.split),
        *(item.genre, item.language, item.source, item.licence),
        *(item.document_id, item.row_id),
        *(item.anchor_uid, item.variant_uid, origin["parent_uid"], origin["anchor_revision"]),
        *(origin["provider"], origin["model"], origin["prompt"]),
        # The editor's name stays in the database: a published table should not name people.
        *(origin["author_kind"] if origin["parent_uid"] else None, origin["decided_by"]),
        *(origin["persons"], origin["models"]),
        origin["adjudicated"],
    )


def _family_rows(session: Session, found: Iterable[Family]) -> Iterator[tuple[Any, ...]]:
    roles = {entry.id: entry.role for entry in all_types(session).values()}
    return (_family(family, roles) for family in found)


def _family(family: Family, roles: Mapping[str, str]) -> tuple[Any, ...]:
    texts: dict[Role, list[str]] = {role: [] for role in _FAMILY_COLUMNS.values()}
    for variant in family.variants:
        texts[role_of(variant.polarity, roles.get(variant.type_id))].append(variant.text)
    return (family.anchor, *texts.values(), family.split, family.source, family.anchor_uid)


def _pair(item: _Item) -> tuple[Any, ...]:
    return (
        *(item.anchor, item.text, int(item.polarity == Polarity.POSITIVE)),
        *(item.type_id, item.polarity, item.cue, item.split, item.anchor_uid, item.variant_uid),
    )
