"""Users' probes: sets of them, files and pasted text, and files of human scores (STS)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlalchemy import Engine, func, select, update
from sqlmodel import col

from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Encoder, ProbeCosine
from db.models import Probe as ProbeRecord
from tests.support.databases import both_databases
from tests.training.support.trainings import count, read, write
from training.evaluation.general_ability import (
    FEWEST,
    LARGEST_STS_FILE,
    StsPair,
    read_sts,
    spearman,
)
from training.evaluation.probe_files import (
    MAX_LABEL,
    Pasted,
    parse_file,
    parse_pasted,
    parse_sentences,
    read_probes,
)
from training.evaluation.probe_sets import (
    FIGURE_1_SET,
    GROUPS_SET,
    MAX_OWN,
    OWN_SET,
    SetKind,
    add_to_set,
    create_set,
    delete_set,
    ensure_bundled,
    list_sets,
    open_set,
    remove_from_set,
    rename_set,
)
from training.evaluation.probes import add_own_probe, own_probes, remove_own_probe
from training.evaluation.similarity import ProbePair, bundled_probes

PAIRS = Pasted(
    [ProbePair("It rains.", "It pours.", ""), ProbePair("It rains.", "It is dry.", "dry")], []
)
SENTENCES = Pasted([], ["It rains.", "It pours.", "It is dry."])


def make(engine: Engine, content: Pasted = PAIRS, name: str = "Weather") -> str:
    return write(engine, create_set, name=name, content=content, author_id=None)


def test_a_set_is_made_opened_and_listed_after_the_bundled_ones(engine: Engine) -> None:
    assert make(engine, name="  Weather \n now ") == "Weather now"
    make(engine, SENTENCES, "alphabet")
    with reading(engine) as session:
        assert list_sets(session) == [GROUPS_SET, FIGURE_1_SET, "alphabet", "Weather now"]
        pairs, sentences = open_set(session, "Weather now"), open_set(session, "alphabet")
    assert (pairs.kind, pairs.bundled) == (SetKind.PAIRS, False)
    assert [stored.probe for stored in pairs.probes] == PAIRS.probes
    assert sentences.kind == SetKind.SENTENCES and sentences.sentences == SENTENCES.sentences


@both_databases
def test_bundled_sets_can_be_opened_before_they_are_stored_and_are_stored_once(
    engine: Engine,
) -> None:
    fresh = read(engine, open_set, GROUPS_SET)
    assert fresh.kind == SetKind.GROUPS and fresh.bundled
    assert {stored.id for stored in fresh.probes} == {0}
    with writing(engine) as session:
        first = ensure_bundled(session, GROUPS_SET)
        assert ensure_bundled(session, GROUPS_SET) == first
        assert open_set(session, GROUPS_SET).probes == first
    assert tuple(stored.probe for stored in first) == bundled_probes()


@both_databases
def test_a_bundled_set_of_an_older_version_is_replaced_without_its_cosines(
    engine: Engine,
) -> None:
    with writing(engine) as session:
        first = ensure_bundled(session, FIGURE_1_SET)
        encoder = Encoder(name="e", fingerprint="f" * 64)
        session.add(encoder)
        session.flush()
        session.add(ProbeCosine(encoder_id=encoder.id, probe_id=first[0].id, cosine=0.5))
        session.execute(
            update(ProbeRecord).where(col(ProbeRecord.id) == first[0].id).values(text="Old.")
        )
    with writing(engine) as session:
        assert open_set(session, FIGURE_1_SET).probes[0].id == 0
        renewed = ensure_bundled(session, FIGURE_1_SET)
        assert [stored.probe for stored in renewed] == [stored.probe for stored in first]
        assert session.execute(select(func.count(col(ProbeCosine.probe_id)))).scalar() == 0


def test_existing_rows_are_not_added_twice(engine: Engine) -> None:
    make(engine)
    with writing(engine) as session:
        more = Pasted([*PAIRS.probes, ProbePair("It rains.", "It hails.", "")], [])
        assert add_to_set(session, "Weather", more) == 1
        probes = open_set(session, "Weather").probes
        assert remove_from_set(session, "Weather", [probes[0].id, probes[0].id, 999]) == 1
        left = [stored.probe.text for stored in open_set(session, "Weather").probes]
    assert left == ["It is dry.", "It hails."]


def test_a_set_is_renamed_and_deleted(engine: Engine) -> None:
    make(engine)
    with writing(engine) as session:
        assert rename_set(session, "Weather", "weather") == "weather"
        delete_set(session, "weather")
        delete_set(session, "weather")
        assert list_sets(session) == [GROUPS_SET, FIGURE_1_SET]
        assert session.execute(select(func.count(col(ProbeRecord.id)))).scalar() == 0
        with pytest.raises(HedgerowError, match="no probe set 'weather'"):
            open_set(session, "weather")


@pytest.mark.parametrize("name", [" ", "x" * 81, "SIXTY groups", "weather", "own probes"])
def test_a_name_that_cannot_be_is_refused(engine: Engine, name: str) -> None:
    make(engine)
    with pytest.raises(HedgerowError):
        make(engine, name=name)
    assert len(read(engine, open_set, "Weather").probes) == 2


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (Pasted([], ["Alone."]), "2 to 200 .*found 1"),
        (Pasted([], [f"S{n}." for n in range(201)]), "found 201"),
        (
            Pasted([ProbePair("a", str(n), "") for n in range(1001)], []),
            "1 to 1,000",
        ),
    ],
)
def test_too_little_or_too_much_for_a_set_is_reported(
    engine: Engine, content: Pasted, sentence: str
) -> None:
    with pytest.raises(HedgerowError, match=sentence):
        make(engine, content)
    assert read(engine, list_sets) == [GROUPS_SET, FIGURE_1_SET]


def test_bundled_sets_cannot_be_changed(engine: Engine) -> None:
    with writing(engine) as session:
        ensure_bundled(session, GROUPS_SET)
        for change in (
            lambda: add_to_set(session, GROUPS_SET, PAIRS),
            lambda: remove_from_set(session, GROUPS_SET, [1]),
            lambda: rename_set(session, GROUPS_SET, "Mine"),
            lambda: delete_set(session, GROUPS_SET),
        ):
            with pytest.raises(HedgerowError, match="can't be changed"):
                change()
        assert tuple(row.probe for row in open_set(session, GROUPS_SET).probes) == bundled_probes()


def test_the_train_page_s_pairs_are_a_set_with_its_own_limits(engine: Engine) -> None:
    with writing(engine) as session:
        add_own_probe(session, anchor="It rains.", text="It pours.")
        assert list_sets(session)[-1] == OWN_SET
        many = Pasted([ProbePair("a", str(n), "") for n in range(MAX_OWN)], [])
        with pytest.raises(HedgerowError, match=f"1 to {MAX_OWN}"):
            add_to_set(session, OWN_SET, many)
        with pytest.raises(HedgerowError, match="contains sentence pairs"):
            add_to_set(session, OWN_SET, SENTENCES)
        with pytest.raises(HedgerowError, match="can't be renamed or deleted"):
            rename_set(session, OWN_SET, "Others")


@both_databases
def test_own_probes_are_kept_in_order_and_removed_with_their_cosines(engine: Engine) -> None:
    with writing(engine) as session:
        first = add_own_probe(session, anchor=" It  rains. ", text="It pours.")
        add_own_probe(session, anchor="It rains.", text="It does not rain.")
        encoder = Encoder(name="e", fingerprint="f")
        session.add(encoder)
        session.flush()
        session.add(ProbeCosine(encoder_id=encoder.id, probe_id=first.id, cosine=0.5))
        session.flush()
        remove_own_probe(session, first.id)
        remove_own_probe(session, first.id)
        add_own_probe(session, anchor="It rains.", text="It pours.")
    with reading(engine) as session:
        texts = [stored.probe.text for stored in own_probes(session)]
        assert texts == ["It does not rain.", "It pours."] and count(session, ProbeCosine) == 0


def test_own_probes_are_different_pairs_and_as_many_as_a_chart_can_show(engine: Engine) -> None:
    with writing(engine) as session:
        add_own_probe(session, anchor="It rains.", text="It pours.")
        for anchor, text, fact in (
            ("", "b", "first sentence"),
            ("a", " \u200b ", "second sentence"),
            ("a", "b" * 3000, "second sentence.*3000"),
            ("a", "b\x07", "control"),
            ("It rains.", " It  pours.", "already"),
        ):
            with pytest.raises(HedgerowError, match=fact):
                add_own_probe(session, anchor=anchor, text=text)
        for number in range(1, MAX_OWN):
            add_own_probe(session, anchor="It rains.", text=f"It rains {number} times.")
        with pytest.raises(HedgerowError, match=f"at most {MAX_OWN}"):
            add_own_probe(session, anchor="It rains.", text="It hails.")


GROUP = [
    ProbePair("A.", "Not A.", "contradicted"),
    ProbePair("A.", "Maybe A.", "weakened"),
    ProbePair("A.", "A, no doubt.", "affirmed"),
]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.csv", 'anchor,text,label\n"He came, she left.","He ""came"".",x\nA.,B.,\n'),
        ("p.tsv", 'anchor\ttext\tlabel\nHe came, she left.\tHe "came".\tx\nA.\tB.\t\n'),
        (
            "p.jsonl",
            '{"anchor":"He came, she left.","text":"He \\"came\\".","label":"x"}\n\n'
            '{"anchor":"A.","text":"B."}\n',
        ),
        ("p.CSV", '\ufeffanchor,text,label\r\n"He came,\n she left.","He ""came"".",x\r\nA.,B.,'),
        ("p.csv", 'id,label,text,anchor\n1,x,"He ""came"".","He came, she left."\n2,,B.,A.\n'),
    ],
)
def test_probes_are_read_from_each_kind_of_file(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8", newline="")
    expected = [ProbePair("He came, she left.", 'He "came".', "x"), ProbePair("A.", "B.", "")]
    assert read_probes(path) == expected
    assert parse_file("unlabelled.csv", b"anchor,text\nA.,B.\n") == Pasted(expected[1:], [])


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("p.csv", "", "is empty"),
        ("p.csv", "anchor,sentence\nA.,B.\n", "add text"),
        ("p.csv", "anchor,text\n", "no rows"),
        ("p.csv", "anchor,text\nA.,B.\nA.\n", "2 fields.* line 3 .*'text' is missing"),
        ("p.csv", "anchor,text\nA.,B.,C.\n", "2 fields.* line 2 "),
        ("p.csv", "anchor,text\nA.,  \n", "line 2: text"),
        ("p.csv", 'anchor,text\nA.,"B', "line 2 .*quotation mark"),
        ("p.tsv", "anchor\ttext\nA.\t\x07B.\n", "line 2: .*control"),
        ("p.jsonl", "\n", "blank lines"),
        ("p.jsonl", '{"anchor":"A.","text":"B."}\n{"anchor"', "line 2 .*JSON"),
        ("p.jsonl", "[" * 100_000, "record 1 .*nested"),
        ("p.jsonl", '["A.","B."]', "found 'text'"),
        ("p.jsonl", '{"anchor":"A.","text":"B.","text":"C."}', "'text'"),
        ("p.csv", "anchor,text,anchor\nA.,B.,C.\n", "'anchor'"),
        ("p.jsonl", '{"anchor":"A."}', "add text"),
        ("p.jsonl", '{"anchor":"A.","text":3}', "line 1: .*in text"),
        ("p.jsonl", '{"anchor":"A.","text":"\\ud800"}', "line 1: .*control"),
        ("p.csv", b"anchor,text\n\xe4,b\n", "UTF-8"),
        ("nowhere.csv", None, "nowhere.csv"),
    ],
)
def test_wrong_probes_give_one_sentence(
    tmp_path: Path, name: str, content: str | bytes | None, sentence: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(HedgerowError, match=sentence) as caught:
        read_probes(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "g.csv",
            'anchor,contradicted,weakened,affirmed\nA.,Not A.,Maybe A.,"A, no doubt."\n',
        ),
        (
            "g.jsonl",
            '{"topic":"x","anchor":"A.","contradicted":"Not A.","weakened":"Maybe A.",'
            '"affirmed":"A, no doubt."}\n',
        ),
        ("g.txt", "A.\tNot A.\tMaybe A.\tA, no doubt.\n"),
    ],
)
def test_a_group_a_line_gives_three_pairs(name: str, content: str) -> None:
    assert parse_file(name, content.encode()) == Pasted(GROUP, [])


def test_a_group_without_one_of_its_forms_is_refused() -> None:
    with pytest.raises(HedgerowError, match="line 2: weakened"):
        parse_file("g.csv", b"anchor,contradicted,weakened,affirmed\nA.,Not A.,,A it is.\n")


def test_pasted_lines_are_sentences_pairs_or_groups_by_their_columns() -> None:
    assert parse_pasted("A.\n\n  B. \nA.\n") == Pasted([], ["A.", "B."])
    assert parse_pasted("A.\tB.") == Pasted([ProbePair("A.", "B.", "")], [])
    assert parse_pasted("A. | B. | hoax") == Pasted([ProbePair("A.", "B.", "hoax")], [])
    assert parse_pasted("Anchor\tText\nA.\tB.") == Pasted([ProbePair("A.", "B.", "")], [])
    assert parse_pasted("A.\tNot A.\tMaybe A.\tA, no doubt.") == Pasted(GROUP, [])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (" \n ", "nothing"),
        ("A.\tB.\nC.", "Line 2: .*2.*1"),
        ("A.\tB.\tC.\tD.\tE.", "Line 1: .*1 to 4.*5"),
        ("A.\tB.\n\nC.\t", "Line 3: text"),
        (f"A.\tB.\t{'x' * (MAX_LABEL + 1)}", f"Line 1: .*{MAX_LABEL}"),
        ("A.\n" + "x" * 2001, "Line 2: .*2000"),
        ("A.\nB\x07", "Line 2: .*control"),
    ],
)
def test_wrong_lines_are_reported_with_their_number(text: str, sentence: str) -> None:
    with pytest.raises(HedgerowError, match=sentence) as caught:
        parse_pasted(text)
    assert "\n" not in str(caught.value)


def test_a_sentence_may_have_a_bar_if_only_sentences_are_asked_for() -> None:
    assert parse_sentences("either | or\nA.\tB.\n") == ["either | or", "A. B."]


PUBLISHED = (
    "score\tsentence1\tsentence2\n"
    '3.600\t"It\'s a huge black eye," said a publisher.\t"It\'s a huge black eye," he said.\n'
    "\tThis pair has no score.\tNobody has judged it.\r\n"
    '0.8\tHe said "no\tShe agreed." \r\n'
    "\n"
    "5\tOne line\u2028of two.\tOne line, of two.\tMSRpar\t0001\n"
)


def pairs(*scores: float) -> list[StsPair]:
    return [StsPair(score, "a", "b") for score in scores]


def read_scores(folder: Path, content: str | bytes) -> list[StsPair]:
    path = folder / "sts.tsv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_sts(path)


def test_a_published_file_is_read_with_its_quotation_marks(tmp_path: Path) -> None:
    expected = [
        (3.6, '"It\'s a huge black eye," said a publisher.', '"It\'s a huge black eye," he said.'),
        (0.8, 'He said "no', 'She agreed."'),
        (5.0, "One line\u2028of two.", "One line, of two."),
    ]
    assert read_scores(tmp_path, PUBLISHED) == expected
    assert read_scores(tmp_path, PUBLISHED.partition("\n")[2]) == expected  # no header
    assert read_scores(tmp_path, "\ufeff" + PUBLISHED) == expected
    rows = [line for line in PUBLISHED.partition("\n")[2].split("\n") if line]
    whole = "\n".join(f"news\tMSR\t2012test\t0001\t{line}" for line in rows)
    assert read_scores(tmp_path, whole.replace("3.6", "3,6")) == expected
    names = ("relatedness_score", "sentence_A", "sentence_B")
    records = [dict(zip(names, row, strict=True)) for row in expected]
    assert read_scores(tmp_path, json.dumps(records)) == expected


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (PUBLISHED + "4\tonly one sentence\n", "line 7"),
        (PUBLISHED + "4\t\tonly the second\n", "line 7"),
        (PUBLISHED + "much\tone\tother\n", "line 7"),
        (PUBLISHED + "nan\tone\tother\n", "line 7"),
        (PUBLISHED + "inf\tone\tother\n", "line 7"),
        (PUBLISHED + "4,one,other\n", "line 7"),
        ("", "is empty"),
        ("score\tsentence1\tsentence2\n\ta\tb\n", f"{FEWEST} .*found 0"),
        ("1\ta\tb\n2\ta\tc\n", "found 2"),
        ("1\ta\tb\n1.0\ta\tc\n1\td\te\n", "found 1 "),
        ("1\tnäme\tb\n".encode("latin-1"), "UTF-8"),
        (b" " * (LARGEST_STS_FILE + 1), "too large"),
    ],
)
def test_another_file_is_refused_with_one_sentence(
    tmp_path: Path, content: str | bytes, sentence: str
) -> None:
    with pytest.raises(HedgerowError, match=sentence) as caught:
        read_scores(tmp_path, content)
    assert "\n" not in str(caught.value)
    for name in ("nowhere.tsv", "."):
        with pytest.raises(HedgerowError, match="Could not read"):
            read_sts(tmp_path / name)


@example([(1, 0.5), (2, 0.5), (3, 0.5)])  # cosines without any difference say nothing
@given(st.lists(st.tuples(st.integers(0, 5), st.floats(-1, 1)), min_size=3, max_size=30))
def test_the_correlation_is_that_of_the_mean_ranks(sampled: list[tuple[int, float]]) -> None:
    scores, cosines = (np.array(column, dtype=float) for column in zip(*sampled, strict=True))
    if len(set(scores)) == 1:
        return
    found = spearman(pairs(*scores), cosines)
    ranks = [
        [(values < value).sum() + (values == value).sum() / 2 for value in values]
        for values in (scores, cosines)
    ]
    flat = len(set(cosines)) == 1
    assert found == pytest.approx(0.0 if flat else np.corrcoef(*ranks)[0, 1], abs=1e-9)
