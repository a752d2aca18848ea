"""Rows of a file become anchors, and texts that it pairs with them variants: all or nothing."""

import json
from collections import Counter
from collections.abc import Iterable
from datetime import UTC
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine, event, func, select
from sqlalchemy.orm import Session
from sqlmodel import SQLModel, col

from curation.anchors.checks import Reason, has_several_sentences
from curation.content_uids import anchor_uid, canonical_uid, near_key, variant_uid, words_of
from curation.decisions.reviewers import LABELS
from curation.decisions.storing import compute_standing
from curation.diagnostics.measuring import count_without_measures
from curation.diagnostics.model_verdicts import apply_switch, find_model, plan_switch
from curation.editing.anchors import correct_anchor, retire_anchor
from curation.editing.own_types import (
    CONTRADICTION,
    ENTAILMENT,
    ORIGINAL_TYPES,
    add_type,
    restore_type,
    retire_type,
)
from curation.editing.type_drafts import OwnType
from curation.generation.prompts import types_of
from curation.importing import anchor_rows
from curation.importing.anchor_preview import Preview, RowStatus, preview
from curation.importing.anchor_rows import About, check_source
from curation.importing.anchor_storing import Added, PairedTexts, add_anchors, earlier_import
from curation.importing.anchors import (
    AddAnchors,
    AnchorFile,
    Plan,
    columns_of,
    planned_in,
    stored_in,
)
from curation.importing.labels import read_file, read_pasted
from curation.importing.originals import Fault, Originals, guess_columns, read_originals
from curation.importing.sample import allocate, length_band, lengths, stratified_sample
from curation.release.export.release_folder import export_release
from curation.review.queue import next_variant
from curation.splits import split_of
from curation.taxonomy.project_types import all_types, list_types, seed_taxonomy
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import (
    Anchor,
    AnchorRevision,
    Diagnostic,
    Polarity,
    ReleaseItem,
    Run,
    RunState,
    Source,
    Status,
    Variant,
)
from tests.curation.support.deciding import accept
from tests.support.databases import both_databases, start_over
from tests.support.dying import dies, small_pieces
from tests.support.factories import add_anchor, add_variant, engine_of, freeze, person

NLI_NAMES = ("premise", "hypothesis", "label")
GENRES = {"genre": "genre"}
NLI = """\
premise,entailment,contradiction
A dog runs on the beach.,An animal is outside.,The dog is asleep.
A man plays the guitar.,A man makes music.,
Two boys swim in a lake.,Two boys swim in a lake.,Nobody is in the water.
A dog runs on the beach.,A dog is moving.,The dog is asleep.
"""


@pytest.fixture
def session(session: Session) -> Session:
    seed_taxonomy(session)
    session.commit()
    return session


def looked(session: Session, text: str, **more: str) -> Preview:
    """A preview of pasted sentences, one per line."""
    return preview(session, read_pasted(text), column="text", **more)


def found(shown: Preview) -> list[tuple[RowStatus, list[Reason]]]:
    return [(row.status, [finding.reason for finding in row.findings]) for row in shown.rows]


def enter(session: Session, text: str, *, name: str = "mine") -> Added:
    shown = looked(session, text)
    return add_anchors(engine_of(session), shown, shown.chosen(), about=About(source=name))


def paired(
    session: Session, text: str, source: str, columns: dict[str, str] | None = None
) -> tuple[Preview, Originals]:
    """A file of premises, and the texts that it pairs with them."""
    table = read_file(text.encode(), name="nli.csv")
    shown = preview(session, table, column="premise")
    columns = columns or guess_columns(table, "premise")
    more = {"sentence": "premise", "source": source, "columns": columns}
    return shown, read_originals(session, table, shown, **more)  # type: ignore[arg-type]


def read(session: Session, text: str = NLI, *, source: str = "nli", **columns: str) -> Originals:
    return paired(session, text, source, columns)[1]


def load(
    session: Session, text: str = NLI, *, source: str = "nli", accept: bool = False, **more: int
) -> Added:
    """Import the whole file, or a sample."""
    shown, originals = paired(session, text, source)
    return add_anchors(
        engine_of(session),
        shown,
        shown.chosen(suspicious=True, **more),
        about=About(source),
        paired=PairedTexts(originals, accept),
        file="nli.csv",
    )


def stored(session: Session) -> list[tuple[str, str, Status]]:
    query = select(col(Variant.type_id), col(Variant.text), col(Variant.status))
    return sorted(tuple(row) for row in session.execute(query))  # type: ignore[arg-type]


def count(session: Session, *tables: type[SQLModel]) -> list[int]:
    return [session.execute(select(func.count()).select_from(t)).scalar_one() for t in tables]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The ferry isn't safe.", Reason.NEGATED),
        ("The ferry is probably safe.", Reason.HEDGED),
        ("They won, but this was disputed.", Reason.DISPUTED),
        ("Is the ferry safe?", Reason.QUESTION),
        ("Ferries", Reason.NO_SENTENCE),
        ("The <b>ferry</b> is safe.", Reason.MARKUP),
        ("The ferry isn&#39;t safe.", Reason.MARKUP),
        ("12 : 34 – 56", Reason.NO_SENTENCE),
        ("The ferry is safe. The bridge is open.", Reason.SEVERAL_SENTENCES),
        ("The ferry is very" + " very" * 110 + " safe.", Reason.LONG),
    ],
)
def test_suspicious_rows_are_reported_with_their_reason(
    session: Session, text: str, reason: Reason
) -> None:
    assert found(looked(session, text)) == [(RowStatus.SUSPICIOUS, [reason])]


@pytest.mark.slow
def test_the_impossible_is_reported_and_never_chosen(session: Session) -> None:
    data = b'{"text":"\\u0007 bell"}\n{"text":" "}\n{"text":null}\n{"text":"\\ud800"}\n'
    data += b'{"text":"' + b"a b" * 700 + b'"}\n{"text":"All is well."}\n'
    shown = preview(session, read_file(data, name="a.jsonl"), column="text")
    reasons = [reason for status, (reason,) in found(shown)[:5] if status is RowStatus.IMPOSSIBLE]
    no_text, empty = Reason.NOT_TEXT, Reason.EMPTY
    assert reasons == [no_text, empty, empty, no_text, Reason.TOO_LONG]
    assert [row.line for row in shown.chosen(suspicious=True)] == [6]
    assert all(row.text.encode("utf-8", "strict") is not None for row in shown.rows), "can be shown"


@pytest.mark.slow
def test_repeats_and_near_equals_name_the_line_or_the_anchor(session: Session) -> None:
    add_anchor(session, "The well-known bridge is safe.")
    cafe = "The café is open.\n\nThe  cafe\u0301 is\u00a0open.\u200b\n"
    near = "the well known bridge is “safe”\nIt's open.\nIT’S OPEN\nIts open."
    shown = looked(session, cafe + near)
    assert [(row.line, row.status) for row in shown.rows] == [
        *[(1, RowStatus.NEW), (3, RowStatus.DUPLICATE), (4, RowStatus.SUSPICIOUS)],
        *[(5, RowStatus.NEW), (6, RowStatus.SUSPICIOUS), (7, RowStatus.NEW)],
    ]
    named = [row.findings[0].sentence for row in shown.rows if row.findings]
    for sentence, name in zip(named, ("line 1.", "“The well-known bridge", "line 5."), strict=True):
        assert name in sentence


@both_databases
def test_every_wording_that_an_anchor_had_is_known(session: Session) -> None:
    first = add_anchor(session, "The bridge is safe.")
    new = "The bridge is closed."
    correct_anchor(session, first.id, new, reviewer_id=person(session), expected_revision=1)
    retire_anchor(session, add_anchor(session, "The ferry is safe.").id)
    shown = looked(session, f"The bridge is safe.\n{new}\nThe ferry is safe.")
    assert found(shown) == [
        (RowStatus.DUPLICATE, [Reason.EARLIER_REVISION]),
        (RowStatus.DUPLICATE, [Reason.KNOWN]),
        (RowStatus.DUPLICATE, [Reason.RETIRED]),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "status"), [("en-GB", RowStatus.SUSPICIOUS), ("es", RowStatus.NEW)]
)
def test_checks_that_know_english_are_left_out_for_others(
    session: Session, language: str, status: RowStatus
) -> None:
    shown = looked(session, "No es la verdad.\n今日は良い天気です", language=language)
    assert [row.status for row in shown.rows] == [status] * 2


def test_a_row_with_several_reasons_counts_once(session: Session) -> None:
    shown = looked(session, "One is here.\nOne is here.\nIs it?\nIt isn't. It never was.\nTwo is.")
    assert sum(shown.statuses.values()) == len(shown.rows) == 5
    several = (Reason.REPEATED, Reason.QUESTION, Reason.NEGATED, Reason.SEVERAL_SENTENCES)
    assert shown.reasons == dict.fromkeys(several, 1)


CELLS = st.sampled_from(
    ["", " ", "A dog runs.", "A dog is here.", "Is it?", "It isn't so.", "x" * 5_000, "Hm\x07."]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=9),
    label=st.sampled_from([None, "0", "neutral", "entailment", "contradiction", "??"]),
    suspicious=st.booleans(),
)
def test_every_row_and_every_paired_text_is_in_exactly_one_count(
    session: Session, rows: list[tuple[str, str, str]], label: str | None, suspicious: bool
) -> None:
    names = ("premise", "entailment", "contradiction") if label is None else NLI_NAMES
    records = [
        dict(zip(names, (*row[:2], row[2] if label is None else label), strict=True))
        for row in rows
    ]
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    file = AnchorFile(read_file(data, name="a.jsonl"), "mine")
    request = AddAnchors(column="premise", include_suspicious=suspicious)
    planned = planned_in(session, request, file)
    assert sum(planned.preview.statuses.values()) == len(rows)
    paired = [text for row in rows for text in (row[1:] if label is None else row[1:2])]
    texts, left_out = planned.originals.paired_with(planned.rows), planned.originals_left_out
    assert len(texts) + sum(left_out.values()) == sum(bool(text.strip()) for text in paired)
    done = stored_in(engine_of(session), planned)
    assert (done.added, done.originals.total) == (len(planned.rows), len(texts))
    start_over(session)


@both_databases
def test_documents_stay_in_one_split_and_ids_reach_the_release(
    engine: Engine, tmp_path: Path
) -> None:
    def load(lines: str) -> Plan:
        data = f"sentence,doc_id,id,split\n{lines}".encode()
        with writing(engine) as session:
            seed_taxonomy(session)
            file = AnchorFile(read_file(data, name="a.csv"), "mine")
            planned = planned_in(session, AddAnchors(), file)
            stored_in(engine_of(session), planned)
        return planned

    first = load("One is here.,d1,7,\nTwo is here.,d1,8,dev\nThree is here.,,9,test\n")
    assert (first.splits, first.moved) == ({"validation": 2, "test": 1}, 0)
    second = load("Four is here.,d1,10,train\nFive is here.,d2,11,\nSix is here.,d2,12,\n")
    assert second.moved == 1
    with writing(engine) as session:
        found = session.execute(select(Anchor).order_by(col(Anchor.id))).scalars().all()
        assert [(a.document_id, a.row_id) for a in found] == [
            *(("d1", "7"), ("d1", "8"), ("", "9")),
            *(("d1", "10"), ("d2", "11"), ("d2", "12")),
        ]
        by_id = split_of(canonical_uid("d2"))
        validation = ["validation"] * 2
        assert [a.split for a in found] == [*validation, "test", "validation", by_id, by_id]
        accept(session, add_variant(session, found[0], text="One is not here."), person(session))
        release = freeze(session).release
        item = session.execute(select(ReleaseItem)).scalar_one()
        assert (item.document_id, item.row_id) == ("d1", "7")
        exported = export_release(session, release, tmp_path / "out", format="jsonl")
    (row,) = (exported / "variants.jsonl").read_text("utf-8").splitlines()
    assert (json.loads(row)["document_id"], json.loads(row)["row_id"]) == ("d1", "7")


def test_a_column_called_document_that_has_whole_texts_is_not_one_of_ids(session: Session) -> None:
    data = b"sentence,document,set\nHi there.," + b"Long. " * 50 + b",blue\n"
    file = AnchorFile(read_file(data, name="a.csv"), "mine")
    columns = columns_of(AddAnchors(), file.table)
    assert (columns.attributes, columns.unused) == ({}, ("document", "set"))
    assert [sentence.split()[0] for sentence in columns.unfit] == ["Split", "Document"]
    with pytest.raises(HedgerowError, match="On line 2 of a.csv in 'set': Expected a split"):
        planned_in(session, AddAnchors(split_column="set"), file)


def test_a_genre_that_is_too_long_is_reported_with_its_line(session: Session) -> None:
    table = read_file(b"text,genre\nHi there,a\nYou too," + b"g" * 81 + b"\n", name="a.csv")
    with pytest.raises(HedgerowError, match="On line 3 of a.csv"):
        preview(session, table, column="text", attributes=GENRES)


@pytest.mark.parametrize(
    ("text", "several"),
    [
        ("Dr. Smith met J. R. Tolkien at 5 p.m. Paris time.", False),
        ("It costs 3.50 euros.", False),
        ("He said: “Go!” and left.", False),
        ("It rained … and then it stopped.", False),
        ("He left. She stayed.", True),
        ("He left! “She stayed.”", True),
        ("Did he? She did.", True),
    ],
)
def test_the_end_of_a_sentence_is_distinguished_from_other_full_stops(
    text: str, several: bool
) -> None:
    assert has_several_sentences(text) is several


@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_words_and_keys_ignore_case_and_punctuation(text: str) -> None:
    words = words_of(text)
    assert all(word and not word.isspace() for word in words)
    if text.isascii():
        assert words == words_of(text + "\N{SNOWMAN}")  # both ways of finding them agree
        assert near_key(text, words) == near_key(text.upper() + "!", words_of(text.upper() + "!"))
        shown = text + "…"
        assert near_key(shown, words_of(shown)) == near_key(text, words)


@both_databases
def test_anchors_get_uid_split_source_and_author(engine: Engine) -> None:
    data = "text,genre\nThe café is open.,news\nThe bridge is safe.,\n".encode()
    with writing(engine) as session:
        ada = person(session)
        shown = preview(session, read_file(data, name="a.csv"), column="text", attributes=GENRES)
        added = add_anchors(
            engine_of(session),
            shown,
            shown.chosen(),
            about=About(source="mine", licence="CC0", genre="prose", language="en-GB"),
            file="a.csv",
            author_id=ada,
            parameters={"column": "text"},
        )
    assert (added.added, added.source) == (2, "mine")
    with reading(engine) as session:
        anchors = session.execute(select(Anchor).order_by(col(Anchor.id))).scalars().all()
        assert [(a.uid, a.genre, a.revision, a.language) for a in anchors] == [
            (anchor_uid("The café is open."), "news", 1, "en-GB"),
            (anchor_uid("The bridge is safe."), "prose", 1, "en-GB"),
        ]
        for anchor in anchors:
            wording = session.get_one(AnchorRevision, (anchor.id, 1))
            assert wording.text_uid == anchor.uid == canonical_uid(wording.text)
            assert (anchor.split, wording.author_id) == (split_of(anchor.uid), ada)
            assert anchor.created_at.tzinfo is UTC and anchor.created_at == wording.created_at
        source = session.get_one(Source, anchors[0].source_id)
        assert (source.licence, source.content_hash) == ("CC0", shown.content_hash)
        run = session.get_one(Run, added.run_id)
        assert (run.state, run.result["added"], run.requested_by) == (RunState.DONE, 2, ada)
        assert run.inputs == {"file": "a.csv", "sha256": shown.content_hash}
    with writing(engine) as session:  # ids continue in the right place
        assert add_anchor(session, "A third one is here.").id not in {a.id for a in anchors}


@both_databases
def test_the_same_file_twice_adds_nothing_and_is_reported(session: Session) -> None:
    text = "The bridge is safe.\nThe ferry is late."
    assert enter(session, text).added == 2
    before = earlier_import(session, read_pasted(text).content_hash)
    assert before is not None and (before.source, before.added) == ("mine", 2)
    assert earlier_import(session, "0" * 64) is None
    assert enter(session, text, name="other") == Added(0)
    assert count(session, Anchor, AnchorRevision, Run, Source) == [2, 2, 1, 1]


@both_databases
def test_a_failure_in_the_middle_leaves_nothing(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anchor_rows, "_WORDING", "INSERT INTO nowhere VALUES ({})")
    with pytest.raises(Exception, match="nowhere"), writing(engine) as session:
        enter(session, "The bridge is safe.")
    with reading(engine) as session:
        assert count(session, Anchor, AnchorRevision, Source, Run) == [0] * 4


@both_databases
@pytest.mark.parametrize("twice", [False, True])
def test_anchors_that_are_there_after_all_stop_an_import(engine: Engine, twice: bool) -> None:
    with writing(engine) as session:
        shown = looked(session, "The bridge is safe.\nThe ferry is late.")
        if not twice:
            enter(session, "The ferry is late.")
    with pytest.raises(HedgerowError), writing(engine) as session:
        add_anchors(
            engine_of(session), shown, shown.chosen() * (1 + twice), about=About(source="mine")
        )
    with reading(engine) as session:
        assert count(session, Anchor) == [not twice]


def test_a_source_keeps_its_licence(session: Session) -> None:
    session.add(Source(name="mine", licence="CC BY 4.0"))
    for licence in (None, "CC BY 4.0"):
        source = check_source(session, About(source=" mine ", licence=licence))
        assert source is not None and source.licence == "CC BY 4.0"
    assert check_source(session, About(source="other", licence="X")) is None
    with pytest.raises(HedgerowError, match="'CC BY 4.0', found 'CC0'"):
        check_source(session, About(source="mine", licence="CC0"))


@pytest.mark.parametrize(
    ("values", "fact"),
    [
        ({"source": " "}, "source"),
        ({"source": "s" * 201}, "source of at most 200"),
        ({"source": "s", "licence": "l" * 201}, "licence of at most 200"),
        ({"source": "s", "genre": "g" * 81}, "genre of at most 80"),
        ({"source": "s", "language": "English please"}, "language tag"),
        ({"source": "s", "language": ""}, "language tag"),
        ({"source": "s", "language": "en" + "-abcdefgh" * 4}, "language tag"),
    ],
)
def test_the_attributes_of_a_file_are_checked(values: dict[str, str], fact: str) -> None:
    assert About("s", language="deu").language == About("s", language="German").language == "de"
    assert About("s", language="EN_us").language == "en-US"
    with pytest.raises(HedgerowError, match=fact):
        About(**values)


@given(
    st.dictionaries(st.integers(0, 9), st.integers(0, 40), min_size=1, max_size=7), st.floats(0, 1)
)
def test_shares_add_up_and_are_within_one_of_the_proportion(
    sizes: dict[int, int], part: float
) -> None:
    everything = sum(sizes.values())
    total = round(part * everything)
    shares = allocate(sizes, total)
    assert sum(shares.values()) == total
    for key, size in sizes.items():
        assert 0 <= shares[key] <= size
        assert everything == 0 or abs(shares[key] - size * total / everything) < 1


def drawn(texts: Iterable[str], size: int, seed: int = 1) -> list[str]:
    return stratified_sample(list(texts), size, stratum=length_band, uid=str, seed=seed)


@given(st.lists(st.integers(1, 45), min_size=1, max_size=60, unique=True), st.data())
def test_a_sample_has_exactly_its_size_and_depends_on_the_seed_alone(
    word_counts: list[int], data: st.DataObject
) -> None:
    texts = [" ".join(["word"] * number) for number in word_counts]
    size = data.draw(st.integers(0, len(texts)))
    sample = drawn(texts, size)
    assert len(sample) == len(set(sample)) == size
    assert sample == [text for text in texts if text in set(sample)]  # in this order
    assert set(drawn(texts[::-1], size)) == set(sample)
    bands, sampled = Counter(map(length_band, texts)), Counter(map(length_band, sample))
    assert all(abs(sampled[b] - n * size / len(texts)) < 1 for b, n in bands.items())


def test_another_seed_draws_another_sample() -> None:
    texts = [f"Sentence number {n} is here." for n in range(200)]
    assert {*drawn(texts, 50, 0)} != {*drawn(texts, 50, 1)}


def test_a_sample_is_no_larger_than_the_rows_and_keeps_the_genres_proportions(
    session: Session,
) -> None:
    shown = looked(session, "The bridge is safe.\nIs it?")
    with pytest.raises(HedgerowError, match="at most 1 "):
        shown.chosen(sample=2)
    assert len(shown.chosen(sample=2, suspicious=True)) == 2
    lines = [f"The thing number {n} is here.,{'news' if n % 4 else 'law'}" for n in range(100)]
    table = read_file(("text,genre\n" + "\n".join(lines)).encode(), name="a.csv")
    shown = preview(session, table, column="text", attributes=GENRES)
    assert Counter(row.own.genre for row in shown.chosen(sample=20)) == {"news": 15, "law": 5}


def test_lengths_are_reported_as_in_the_paper() -> None:
    some, none = lengths([" ".join(["word"] * n) for n in (1, 14, 15, 30, 31)]), lengths([])
    assert (some.n, some.short, some.middle, some.long, some.median) == (5, 2, 2, 1, 15)
    assert (some.share(some.short), none.n, none.share(none.short)) == (0.4, 0, 0.0)


@both_databases
def test_paired_texts_become_pending_variants_of_their_anchors(session: Session) -> None:
    added = load(session)
    assert (added.added, added.originals.types) == (3, {ENTAILMENT: 3, CONTRADICTION: 2})
    assert stored(session) == [
        (CONTRADICTION, "Nobody is in the water.", Status.PENDING),
        (CONTRADICTION, "The dog is asleep.", Status.PENDING),
        (ENTAILMENT, "A dog is moving.", Status.PENDING),
        (ENTAILMENT, "A man makes music.", Status.PENDING),
        (ENTAILMENT, "An animal is outside.", Status.PENDING),
    ]
    for variant in session.execute(select(Variant)).scalars():
        uid = session.get_one(Anchor, variant.anchor_id).uid
        assert (variant.provider, variant.model) == ("imported", "nli.csv")
        assert variant.run_id == added.run_id and variant.author_id is None
        text, type_id = variant.text, variant.type_id
        assert variant.uid == variant_uid(anchor_uid=uid, type_id=type_id, text=text)
        assert session.get_one(Diagnostic, variant.id).levenshtein > 0
    types = all_types(session)
    assert {key: (types[key].role, types[key].polarity) for key in ORIGINAL_TYPES} == {
        ENTAILMENT: ("paraphrase", "positive"),
        CONTRADICTION: ("negation", "negative"),
    }
    run = session.get_one(Run, added.run_id)
    assert run.result["originals"] == {ENTAILMENT: 3, CONTRADICTION: 2}
    assert run.result["originals_left_out"] == {"there": 1, "same": 1}
    assert run.parameters["columns"] == {ENTAILMENT: "entailment", CONTRADICTION: "contradiction"}
    assert next_variant(session, type_ids=[CONTRADICTION]) is not None
    again = read(session)
    assert (again.paired_with([]), again.left_out) == ([], {Fault.THERE: 6, Fault.SAME: 1})
    assert load(session) == Added(0) and count(session, Variant) == [5]


def test_anchors_that_are_there_get_what_they_lack(session: Session) -> None:
    load(session, "premise\nA dog runs on the beach.\nA man plays the guitar.\n")
    assert ENTAILMENT not in all_types(session)
    dog, man = session.execute(select(Anchor).order_by(col(Anchor.id))).scalars()
    new = "A dog runs along the beach."
    correct_anchor(session, dog.id, new, reviewer_id=person(session), expected_revision=1)
    retire_anchor(session, man.id)
    corrected = NLI.replace("runs on", "runs along")
    added = load(session, corrected)
    assert (added.added, added.originals.types) == (1, {ENTAILMENT: 2, CONTRADICTION: 2})
    variants = session.execute(select(Variant).where(col(Variant.anchor_id) == dog.id)).scalars()
    assert {variant.anchor_revision for variant in variants} == {2}
    assert read(session).texts == read(session, corrected).texts == []


def test_anchors_of_another_source_get_nothing(session: Session) -> None:
    load(session, "premise\nA dog runs on the beach.\n", source="other")
    assert read(session).left_out == {Fault.OTHER_SOURCE: 4, Fault.SAME: 1}
    assert load(session).originals.types == {ENTAILMENT: 1, CONTRADICTION: 1}
    assert len(read(session, source="other").texts) == 3


def test_accepted_ones_are_decided_by_a_model_that_can_be_switched_off(session: Session) -> None:
    load(session, accept=True)
    assert Counter(status for *_, status in stored(session)) == {Status.ACCEPTED: 5}
    ids = list(session.execute(select(col(Variant.id))).scalars())
    assert {one.status for one in compute_standing(session, ids).values()} == {Status.ACCEPTED}
    release = freeze(session, name="").release
    items = session.execute(select(ReleaseItem)).scalars().all()
    assert {item.polarity for item in items} == {Polarity.POSITIVE, Polarity.NEGATIVE}
    assert {item.provenance["decided_by"] for item in items} == {"model"}
    assert release.taxonomy[ENTAILMENT]["origin"] == "imported"
    model = find_model(session, LABELS)
    assert model.decisions == 5
    apply_switch(session, plan_switch(session, model.id, counts=False))
    assert {status for *_, status in stored(session)} == {Status.PENDING}


def test_a_sample_takes_the_texts_of_its_anchors_alone(session: Session) -> None:
    added = load(session, sample=1)
    anchors = set(session.execute(select(col(Variant.anchor_id))).scalars())
    assert added.added == 1 and len(anchors) == 1 and added.originals.total < 5


def test_paired_texts_that_are_not_sentences_are_left_out_and_counted(session: Session) -> None:
    text = "premise,entailment\nA dog runs.,yes\nA cat sits.,  \nIt rains.,42\nIt snows.,"
    text += f"{'very ' * 500}cold\nAll sleep.,A  person\u00a0sleeps.\nA bird sings.,\n"
    originals = read(session, text)
    assert [original.text for original in originals.texts] == ["A person sleeps."]
    assert originals.left_out == {Fault.NO_SENTENCE: 2, Fault.NOT_TEXT: 1}


@pytest.mark.parametrize(
    ("columns", "fact"),
    [
        ({ENTAILMENT: "none"}, "a column 'none'"),
        ({ENTAILMENT: "premise"}, "'premise' twice"),
        ({ENTAILMENT: "entailment", CONTRADICTION: "entailment"}, "'entailment' twice"),
    ],
)
def test_columns_that_cannot_be_are_refused(
    session: Session, columns: dict[str, str], fact: str
) -> None:
    with pytest.raises(HedgerowError, match=fact):
        read(session, **columns)


def test_a_retired_type_and_one_of_another_role_take_no_texts(session: Session) -> None:
    facts = {"label": "Entailment", "definition": "Something of my own here."}
    facts |= {"example_anchor": "It rains.", "example": "It may rain."}
    assert add_type(session, OwnType(role="hedge", **facts)).id == ENTAILMENT
    with pytest.raises(HedgerowError, match="paraphrase, found a hedge"):
        read(session)
    session.rollback()
    load(session)
    retire_type(session, ENTAILMENT)
    with pytest.raises(HedgerowError, match="retired"):
        read(session)
    restore_type(session, ENTAILMENT)
    assert read(session).left_out == {Fault.THERE: 6, Fault.SAME: 1}


def test_no_model_is_asked_to_write_them(session: Session) -> None:
    roles = ("negation", "paraphrase")
    before = [types_of(role, list_types(session)) for role in roles]
    load(session)
    types = list_types(session)
    assert [types_of(role, types) for role in roles] == before
    assert [entry.id for entry in types if entry.imported] == [ENTAILMENT, CONTRADICTION]
    assert all(entry.own for entry in types if entry.imported)


def test_large_numbers_wait_for_the_next_diagnostics_run(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curation.importing.anchor_storing.MEASURED_AT_ONCE", 4)
    assert load(session).originals.measured is False and count_without_measures(session) == 5


@pytest.mark.databases("postgresql")
def test_many_originals_are_looked_up_by_index_in_a_new_table(engine: Engine) -> None:
    """PostgreSQL assumed that the table was empty, and read all of it for every 500 rows."""
    lines = [f"Train {n} leaves.,Train {n} is somewhere.,Train {n} stays." for n in range(3000)]
    read_rows: dict[str, int] = {}

    def note(connection: Connection) -> None:
        query = "SELECT relname, seq_tup_read FROM pg_stat_xact_user_tables"
        read_rows.update(connection.exec_driver_sql(query).all())

    event.listen(engine, "commit", note)
    with writing(engine) as session:
        seed_taxonomy(session)
        added = load(session, "\n".join(["premise,entailment,contradiction", *lines]), accept=True)
    assert added.originals.total == 2 * len(lines)
    # Reading the whole table for each 500 rows took 216,000. For a few batches, a table that an
    # earlier test emptied is misjudged.
    assert read_rows["variant"] < 12 * added.originals.total


def test_a_large_file_is_added_in_pieces_and_the_rest_after_an_interruption(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_pieces(monkeypatch, 4)
    lines = [f"Bridge {n} is safe.,Bridge {n} holds.,d{n // 3}" for n in range(10)]
    data = "\n".join(["premise,entailment,doc_id", *lines]).encode()
    request = AddAnchors(accept_originals=True)
    file = AnchorFile(read_file(data, name="a.csv"), "mine")

    def planned() -> Plan:
        with reading(engine) as session:
            return planned_in(session, request, file)

    with writing(engine) as session:
        seed_taxonomy(session)
    first = planned()
    dies(engine, lambda own: stored_in(own, first), after=2)
    with reading(engine) as session:
        (run,) = session.execute(select(Run)).scalars()
        assert (run.state, run.message) == (RunState.INTERRUPTED, "Added 8 of 10 anchors.")
        assert run.result["originals"] == {"entailment": 8} and count(session, Anchor) == [8]
    done = stored_in(engine, planned())
    assert (done.added, dict(done.originals.types)) == (2, {"entailment": 2})
    with reading(engine) as session:
        split_of = select(col(Anchor.document_id), col(Anchor.split)).distinct()
        assert len(session.execute(split_of).all()) == 4, "a document is in one split"
        accepted = select(Variant).where(col(Variant.status) == Status.ACCEPTED)
        assert len(session.execute(accepted).all()) == 10
