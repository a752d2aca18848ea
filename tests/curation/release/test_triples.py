"""Triples and question pairs: which there are, in which order, and the files of the questions."""

import json
import math
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.orm import Session

from curation.editing.own_types import CONTRADICTION, ENTAILMENT, ensure_types
from curation.release.export.file_formats import check_finetuning_file
from curation.release.export.release_folder import MANIFEST, export_release
from curation.release.question_pairs import (
    Arm,
    QuestionCounts,
    QuestionPair,
    count_questions,
    question_pairs,
    require_questions,
)
from curation.release.triples import Triple, families, triple_rows
from curation.taxonomy.project_types import seed_taxonomy
from db.errors import HedgerowError
from db.models import Release, Split
from tests.curation.support.exported import body, contents, opened, tables_in
from tests.curation.support.families import NEGATIVES, POSITIVES, add_family, add_plain_family
from tests.support.databases import both_databases, start_over
from tests.support.factories import freeze

OF_PAPER = {
    "verbal": ["It is not late."],
    "absolute": ["It is never late."],
    "affixal": ["It is unlate."],
    "lexical": ["It is early."],
    "word": ["It is probably late."],
    "phrase": ["I think it is late."],
}
SHAPES = st.lists(
    st.tuples(
        st.lists(st.sampled_from(POSITIVES), max_size=4),
        st.lists(st.sampled_from(NEGATIVES), max_size=6),
        st.sampled_from(Split),
    ),
    max_size=4,
)
Shapes = list[tuple[list[str], list[str], Split]]


@pytest.fixture
def session(session: Session) -> Session:
    seed_taxonomy(session)
    session.commit()
    return session


def shaped(session: Session, shapes: Shapes) -> Release:
    """A release of families of these shapes, and of one that is always there."""
    add_family(session, "Always here.", {"verbal": ["Not here."]}, split=Split.TRAIN)
    for number, (positives, negatives, split) in enumerate(shapes):
        variants = defaultdict(list)
        for position, type_id in enumerate(positives + negatives):
            variants[type_id].append(f"Variant {position} of {number}.")
        add_family(session, f"Anchor {number}.", variants, split=split)
    return freeze(session).release


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shapes=SHAPES)
def test_triples_are_all_combinations_and_question_pairs_keep_their_proportions(
    session: Session, shapes: Shapes
) -> None:
    release = shaped(session, shapes)
    expected, in_triples, in_pairs = (defaultdict[str, Counter[str]](Counter) for _ in range(3))
    for positives, negatives, split in shapes:
        expected[split]["triples"] += len(positives) * len(negatives)
    pairs = list(question_pairs(session, release.id))
    counts = count_questions(session, release.id)
    by_split = {}
    for split in Split:
        triples = list(triple_rows(session, release.id, split=split))
        assert len(triples) == len(set(triples)) == expected[split]["triples"]
        for row in triples:
            assert row.split == split
            assert row.positive_type in POSITIVES and row.negative_type in NEGATIVES
            in_triples[row.anchor_uid].update([row.positive_uid, row.negative_uid])
        by_split[split] = list(question_pairs(session, release.id, split=split))
    assert release.summary["triples"] == sum(some["triples"] for some in expected.values())
    for pair in pairs:
        in_pairs[pair.anchor_uid].update([pair.variant_uid])
    assert in_pairs.keys() == in_triples.keys()
    for uid, times in in_pairs.items():
        ratios = {Fraction(n, in_triples[uid][variant]) for variant, n in times.items()}
        assert len(ratios) == 1 and times.keys() == in_triples[uid].keys()
        assert math.gcd(*times.values()) == 1, "nothing repeats without need"
        answers = Counter(pair.answer for pair in pairs if pair.anchor_uid == uid)
        assert answers["Yes"] == answers["No"]
    assert Counter(pairs) == Counter(pair for some in by_split.values() for pair in some)
    assert counts.pairs == {split: len(some) for split, some in by_split.items() if some}
    without = release.summary["anchors"] - len(in_pairs)
    assert counts.left_out == release.summary["anchors_without_triples"] == without
    start_over(session)


@both_databases
def test_a_triple_is_an_anchor_and_two_of_its_own_variants(session: Session) -> None:
    for number in (1, 2):
        add_plain_family(session, number)
    add_family(session, "It is late.", {"verbal": ["It is not late.", "It isn't late."]})
    release = freeze(session).release
    assert {row.triple for row in triple_rows(session, release.id)} == {
        Triple(f"Door {n} is open.", f"Door {n} is probably open.", negative)
        for n in (1, 2)
        for negative in (f"Door {n} is not open.", f"Door {n} is shut.")
    }
    # A family without triples is still a family.
    (late,) = [one for one in families(session, release.id) if one.positives == []]
    assert {member.text for member in late.negatives} == {"It is not late.", "It isn't late."}


@pytest.mark.slow
@both_databases
def test_the_order_depends_on_uids_alone(session: Session) -> None:
    found = []
    for numbers in ([1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]):
        for number in numbers:
            add_plain_family(session, number)
        release = freeze(session).release.id
        triples, pairs = list(triple_rows(session, release)), list(question_pairs(session, release))
        found.append((triples, pairs))
        start_over(session)
    assert found[0] == found[1] and (len(triples), len(pairs)) == (12, 24)
    keys = [(row.anchor_uid, row.positive_uid, row.negative_uid) for row in triples]
    assert keys == sorted(keys)
    uids = [pair.anchor_uid for pair in pairs]
    assert uids == sorted(uids)


def test_the_question_is_the_papers_and_a_rare_hedge_is_asked_more_often(session: Session) -> None:
    add_family(session, "It is late.", OF_PAPER, split=Split.TRAIN)
    found = list(question_pairs(session, freeze(session).release.id))
    by_type = {pair.type: pair for pair in found}
    assert by_type["verbal"].prompt == (
        "Sentence 1: It is late.\nSentence 2: It is not late.\n"
        "Do the two sentences have opposite meaning? Yes or No.\nAnswer:"
    )
    assert (by_type["verbal"].answer, by_type["phrase"].answer) == ("Yes", "No")
    assert [pair.answer for pair in found] == ["Yes", "No"] * 4
    times = dict.fromkeys(NEGATIVES, 1) | {"word": 2, "phrase": 2}
    assert Counter(pair.type for pair in found) == times
    # Braces in a sentence are text.
    pair = QuestionPair("a", "v", "verbal", "{sentence_2}", "{0}", "Yes", Split.TRAIN)
    assert pair.prompt.splitlines()[:2] == ["Sentence 1: {sentence_2}", "Sentence 2: {0}"]


@pytest.mark.parametrize(
    ("arm", "types", "missing"),
    [
        ("both", {*OF_PAPER, ENTAILMENT, CONTRADICTION, "negated_antonym"}, "a negation and"),
        ("paper", {*OF_PAPER}, "a negation and"),
        ("negation", {*NEGATIVES, ENTAILMENT}, "an original entailment"),
        ("hedging", {"word", "phrase", CONTRADICTION}, "an original contradiction"),
    ],
)
def test_an_arm_is_a_portion_as_an_encoder_is_trained_on_it(
    session: Session, arm: Arm, types: set[str], missing: str
) -> None:
    others = {"negated_antonym": ["It is not early."], "unsupported": ["Who knows the time?"]}
    originals = {ENTAILMENT: ["The evening has come."], CONTRADICTION: ["It is noon."]}
    ensure_types(session, originals)
    session.commit()
    add_family(session, "It is late.", OF_PAPER | others | originals)
    release = freeze(session).release
    found = list(question_pairs(session, release.id, arm=arm))
    assert count_questions(session, release.id, arm=arm).total == len(found)
    answers = {pair.type: pair.answer for pair in found}
    assert answers.keys() == types
    for type_id, answer in {ENTAILMENT: "No", CONTRADICTION: "Yes"}.items():
        assert answers.get(type_id, answer) == answer
    start_over(session)
    # A release that gives one answer only gives none.
    add_family(session, "It is late.", {"verbal": ["It is not late."]})
    release = freeze(session).release
    assert list(question_pairs(session, release.id, arm=arm)) == []
    counts = count_questions(session, release.id, arm=arm)
    assert counts == QuestionCounts({}, 1)
    with pytest.raises(HedgerowError, match=missing):
        require_questions(release, counts, arm)


def released(session: Session, *, train: int = 5) -> Release:
    """This many families for training, and one in each of the other splits."""
    for number in range(train):
        add_plain_family(session, number, split=Split.TRAIN)
    add_plain_family(session, 100, split=Split.VALIDATION)
    add_plain_family(session, 101, split=Split.TEST)
    return freeze(session, name="Doors").release


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("format", ["messages", "completion"])
def test_parquet_and_json_lines_hold_the_same_questions_of_each_split(
    session: Session, tmp_path: Path, format: str
) -> None:
    release = released(session)
    folder = export_release(session, release, tmp_path / "out", format=format)  # type: ignore[arg-type]
    assert tables_in(folder) == [format]
    found = opened(folder, format, tmp_path / "cache")
    for split in Split:
        rows = found[split]
        assert rows == lines(folder / format / f"{split}.jsonl")
        if format == "messages":
            roles = {tuple(m["role"] for m in row["messages"]) for row in rows}
            assert roles == {("user", "assistant")}
            asked = [tuple(m["content"] for m in row["messages"]) for row in rows]
        else:
            assert all(row["completion"].startswith(" ") for row in rows)
            asked = [(row["prompt"], row["completion"].strip()) for row in rows]
        pairs = question_pairs(session, release.id, split=split)
        assert asked == [(pair.prompt, pair.answer) for pair in pairs]
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    assert manifest["rows"] == {format: {"train": 20, "validation": 4, "test": 4}}
    (note,) = manifest["notes"]
    assert note.startswith("28 ")


@pytest.mark.slow
def test_openais_files_hold_messages_alone_and_say_how_many_tokens(
    session: Session, tmp_path: Path
) -> None:
    folder = export_release(session, released(session), tmp_path / "out", format="openai")
    train = lines(folder / "train.jsonl")
    assert len(train) == 20 and all(list(row) == ["messages"] for row in train)
    assert Counter(row["messages"][1]["content"] for row in train) == {"Yes": 10, "No": 10}
    letters = sum(len(message["content"]) for row in train for message in row["messages"])
    assert f"20 examples with about {round(letters / 4):,} tokens" in body(folder)
    assert len(lines(folder / "validation.jsonl")) == 4
    assert {row["messages"][1]["content"] for row in opened(folder, None, tmp_path / "c")["test"]}


@pytest.mark.slow
def test_an_arm_is_exported_alone_or_not_at_all(session: Session, tmp_path: Path) -> None:
    release = released(session)
    whole = export_release(session, release, tmp_path / "whole", format="messages")
    assert "Do the two sentences have opposite meaning? Yes or No." in body(whole)
    assert "| messages | " in body(whole)
    with pytest.raises(HedgerowError, match="an original contradiction"):
        export_release(session, release, tmp_path / "hedges", format="messages", arm="hedging")
    assert not (tmp_path / "hedges").exists()
    texts = {"word": ["Cats may purr."], "verbal": ["Cats do not purr."]}
    add_family(session, "Cats purr.", texts | {"negated_antonym": ["Cats never hush."]})
    release = freeze(session).release
    folder = export_release(session, release, tmp_path / "n", format="messages", arm="negation")
    assert "2 question pairs" in body(folder) and "7 anchors left out" in body(folder)


@pytest.mark.parametrize(
    ("format", "train", "fact"),
    [
        *((format, None, "no anchor of release 1") for format in ("messages", "completion")),
        ("openai", None, "no anchor of release 1"),
        ("openai", 2, "at least 10 question pairs.*found 8"),
        ("openai", 0, "at least 10 question pairs.*found 0"),
    ],
)
def test_a_release_with_too_few_questions_gives_no_files(
    session: Session, tmp_path: Path, format: str, train: int | None, fact: str
) -> None:
    if train is None:  # no negations
        add_family(session, "It is late.", {"word": ["It is probably late."]})
        release = freeze(session).release
    else:
        release = released(session, train=train)
    with pytest.raises(HedgerowError, match=fact):
        export_release(session, release, tmp_path / "x" / "out", format=format)  # type: ignore[arg-type]
    assert contents(tmp_path / "x") == {}


GOOD = '{"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "Yes"}]}'


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        (GOOD.replace("assistant", "person"), "Line 2 of it.jsonl is not a chat"),
        (GOOD.replace("Yes", " "), "not a chat"),
        (GOOD.replace("}]}", '}], "split": "train"}'), "not a chat"),
        (GOOD.replace("assistant", "user"), "without an answer"),
        ("", "not a chat"),
        ("[1]", "not a chat"),
        ('{"messages": 3}', "not a chat"),
        ('{"messages": [3, 4]}', "not a chat"),
    ],
)
def test_a_line_that_openai_would_refuse_is_named(tmp_path: Path, line: str, fact: str) -> None:
    path = tmp_path / "it.jsonl"
    path.write_text(f"{GOOD}\n{line}\n")
    with pytest.raises(HedgerowError, match=fact):
        check_finetuning_file(path)
    path.write_text(f"{GOOD}\n")
    assert check_finetuning_file(path) == (1, 1)
