"""Entailments and contradictions that are imported with their anchors."""

from collections import Counter

import pytest
from sqlalchemy import Connection, Engine, event, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.changes import correct_anchor, retire_anchor
from curation.anchors.importing.formats import read_file
from curation.anchors.importing.insert import About, Added, PairedTexts, add_anchors
from curation.anchors.importing.nli_insert import MEASURED_AT_ONCE
from curation.anchors.importing.nli_texts import (
    Fault,
    Originals,
    guess_columns,
    read_originals,
)
from curation.anchors.importing.preview import preview
from curation.content_uids import variant_uid
from curation.diagnostics.measuring import count_without_measures
from curation.generation.prompts import types_of
from curation.release.freezing import create_release
from curation.review.decisions import compute_standing
from curation.review.opinions.model_verdicts import apply_switch, find_model, plan_switch
from curation.review.people.reviewers import LABELS
from curation.review.queue import next_variant
from curation.taxonomy.guideline import ExampleKind, parse_guideline
from curation.taxonomy.nli_types import CONTRADICTION, ENTAILMENT, ORIGINAL_TYPES
from curation.taxonomy.own_types import add_type, restore_type, retire_type
from curation.taxonomy.project_types import all_types, list_types, seed_taxonomy
from curation.taxonomy.reject_reasons import REJECT_REASONS
from curation.taxonomy.type_drafts import OwnType
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import (
    Anchor,
    Diagnostic,
    Polarity,
    ReleaseItem,
    Run,
    Status,
    Variant,
)
from tests.support.databases import both_databases, one_database
from tests.support.factories import person

pytestmark = both_databases

NLI = """\
premise,entailment,contradiction
A dog runs on the beach.,An animal is outside.,The dog is asleep.
A man plays the guitar.,A man makes music.,
Two boys swim in a lake.,Two boys swim in a lake.,Nobody is in the water.
A dog runs on the beach.,A dog is moving.,The dog is asleep.
"""


@pytest.fixture
def seeded(engine: Engine) -> Engine:
    with writing(engine) as session:
        seed_taxonomy(session)
    return engine


def read(engine: Engine, text: str = NLI, *, source: str = "nli", **columns: str) -> Originals:
    """The texts that a file pairs with its anchors."""
    table = read_file(text.encode(), name="nli.csv")
    with reading(engine) as session:
        shown = preview(session, table, column="premise")
        return read_originals(
            session,
            table,
            shown,
            sentence="premise",
            source=source,
            columns=columns or guess_columns(table, "premise"),
        )


def load(
    engine: Engine,
    text: str = NLI,
    *,
    source: str = "nli",
    accept: bool = False,
    sample: int | None = None,
) -> Added:
    """Import the whole file."""
    table = read_file(text.encode(), name="nli.csv")
    with writing(engine) as session:
        shown = preview(session, table, column="premise")
        originals = read_originals(
            session,
            table,
            shown,
            sentence="premise",
            source=source,
            columns=guess_columns(table, "premise"),
        )
        return add_anchors(
            session,
            shown,
            shown.chosen(include_suspicious=True, sample=sample),
            about=About(source),
            paired=PairedTexts(originals, accept),
            file="nli.csv",
        )


def stored(session: Session) -> list[tuple[str, str, Status]]:
    query = select(col(Variant.type_id), col(Variant.text), col(Variant.status))
    return sorted(tuple(row) for row in session.execute(query))  # type: ignore[arg-type]


def test_texts_become_pending_variants_of_their_anchors(seeded: Engine) -> None:
    added = load(seeded)
    assert (added.added, added.originals.types) == (3, {ENTAILMENT: 3, CONTRADICTION: 2})
    with reading(seeded) as session:
        assert stored(session) == [
            (CONTRADICTION, "Nobody is in the water.", Status.PENDING),
            (CONTRADICTION, "The dog is asleep.", Status.PENDING),
            (ENTAILMENT, "A dog is moving.", Status.PENDING),
            (ENTAILMENT, "A man makes music.", Status.PENDING),
            (ENTAILMENT, "An animal is outside.", Status.PENDING),
        ]
        for variant in session.execute(select(Variant)).scalars():
            anchor = session.get_one(Anchor, variant.anchor_id)
            assert (variant.provider, variant.model) == ("imported", "nli.csv")
            assert variant.run_id == added.run_id and variant.author_id is None
            assert variant.uid == variant_uid(
                anchor_uid=anchor.uid, type_id=variant.type_id, text=variant.text
            )
            assert session.get_one(Diagnostic, variant.id).levenshtein > 0
        types = all_types(session)
        assert (types[ENTAILMENT].role, types[ENTAILMENT].polarity) == ("paraphrase", "positive")
        assert (types[CONTRADICTION].role, types[CONTRADICTION].polarity) == (
            "negation",
            "negative",
        )
        run = session.get_one(Run, added.run_id)
        assert run.result["originals"] == {ENTAILMENT: 3, CONTRADICTION: 2}
        assert run.result["originals_left_out"] == {"there": 1, "same": 1}
        assert run.parameters["columns"] == {
            ENTAILMENT: "entailment",
            CONTRADICTION: "contradiction",
        }
        assert next_variant(session, type_ids=[CONTRADICTION]) is not None


def test_a_second_import_adds_nothing_and_counts_what_is_there(seeded: Engine) -> None:
    load(seeded)
    again = read(seeded)
    assert again.of([]) == []
    assert again.left_out == {Fault.THERE: 6, Fault.SAME: 1}
    assert load(seeded) == Added(0)
    with reading(seeded) as session:
        assert len(stored(session)) == 5


@one_database
def test_anchors_that_are_there_get_what_they_lack(seeded: Engine) -> None:
    load(seeded, "premise\nA dog runs on the beach.\nA man plays the guitar.\n")
    with writing(seeded) as session:
        assert ENTAILMENT not in all_types(session)
        dog, man = session.execute(select(Anchor).order_by(col(Anchor.id))).scalars()
        correct_anchor(
            session,
            dog.id,
            "A dog runs along the beach.",
            reviewer_id=person(session),
            expected_revision=1,
        )
        retire_anchor(session, man.id)
    corrected = NLI.replace("runs on", "runs along")
    added = load(seeded, corrected)
    assert (added.added, added.originals.types) == (1, {ENTAILMENT: 2, CONTRADICTION: 2})
    with reading(seeded) as session:
        variants = session.execute(select(Variant).where(col(Variant.anchor_id) == dog.id))
        assert {variant.anchor_revision for variant in variants.scalars()} == {2}
    assert read(seeded).texts == read(seeded, corrected).texts == []


@one_database
def test_anchors_of_another_source_get_nothing(seeded: Engine) -> None:
    load(seeded, "premise\nA dog runs on the beach.\n", source="other")
    found = read(seeded)
    assert found.left_out == {Fault.OTHER_SOURCE: 4, Fault.SAME: 1}
    assert load(seeded).originals.types == {ENTAILMENT: 1, CONTRADICTION: 1}
    assert len(read(seeded, source="other").texts) == 3


@one_database
def test_accepted_ones_are_decided_by_a_model_that_can_be_switched_off(seeded: Engine) -> None:
    load(seeded, accept=True)
    with writing(seeded) as session:
        assert Counter(status for *_, status in stored(session)) == {Status.ACCEPTED: 5}
        ids = list(session.execute(select(col(Variant.id))).scalars())
        assert {found.status for found in compute_standing(session, ids).values()} == {
            Status.ACCEPTED
        }
        release = create_release(session, name="").release
        items = session.execute(select(ReleaseItem)).scalars().all()
        assert {item.polarity for item in items} == {Polarity.POSITIVE, Polarity.NEGATIVE}
        assert {item.provenance["decided_by"] for item in items} == {"model"}
        assert release.taxonomy[ENTAILMENT]["origin"] == "imported"
        model = find_model(session, LABELS)
        assert model.decisions == 5
        apply_switch(session, plan_switch(session, model.id, counts=False))
    with reading(seeded) as session:
        assert {status for *_, status in stored(session)} == {Status.PENDING}


@one_database
def test_a_sample_takes_the_texts_of_its_anchors_alone(seeded: Engine) -> None:
    added = load(seeded, sample=1)
    with reading(seeded) as session:
        anchors = set(session.execute(select(col(Variant.anchor_id))).scalars())
    assert added.added == 1 and len(anchors) == 1 and added.originals.total < 5


@one_database
def test_rows_that_are_not_sentences_are_left_out_and_counted(seeded: Engine) -> None:
    found = read(
        seeded,
        "premise,entailment\nA dog runs.,yes\nA cat sits.,  \nIt rains.,42\n"
        f"It snows.,{'very ' * 500}cold\nAll sleep.,A  person\u00a0sleeps.\nA bird sings.,\n",
    )
    assert [original.text for original in found.texts] == ["A person sleeps."]
    assert found.left_out == {Fault.NO_SENTENCE: 2, Fault.NOT_TEXT: 1}


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("anchor,entailment,negative", {ENTAILMENT: "entailment", CONTRADICTION: "negative"}),
        ("a,Entailed,Contradiction", {ENTAILMENT: "Entailed", CONTRADICTION: "Contradiction"}),
        ("text,negative,genre", {}),
        ("entailment,contradiction,x", {CONTRADICTION: "contradiction"}),
    ],
)
def test_columns_are_recognised_by_their_names(header: str, expected: dict[str, str]) -> None:
    table = read_file(f"{header}\na b,c d,e f\n".encode(), name="a.csv")
    assert guess_columns(table, header.partition(",")[0]) == expected


@one_database
@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({ENTAILMENT: "none"}, "a column 'none'"),
        ({ENTAILMENT: "premise"}, "found 'premise' twice"),
        ({ENTAILMENT: "entailment", CONTRADICTION: "entailment"}, "found 'entailment' twice"),
    ],
)
def test_columns_that_cannot_be_are_refused(
    seeded: Engine, columns: dict[str, str], expected: str
) -> None:
    with pytest.raises(HedgerowError, match=expected):
        read(seeded, **columns)


@one_database
def test_a_retired_type_and_one_of_another_role_take_no_texts(seeded: Engine) -> None:
    load(seeded)
    with writing(seeded) as session:
        retire_type(session, ENTAILMENT)
    with pytest.raises(HedgerowError, match="is retired; restore it"):
        read(seeded)
    with writing(seeded) as session:
        restore_type(session, ENTAILMENT)
    assert read(seeded).left_out == {Fault.THERE: 6, Fault.SAME: 1}


@one_database
def test_a_user_defined_type_with_the_id_and_another_role_is_reported(seeded: Engine) -> None:
    wanted = OwnType(
        label="Entailment",
        role="hedge",
        definition="Something of my own here.",
        example_anchor="It rains.",
        example="It may rain.",
    )
    with writing(seeded) as session:
        assert add_type(session, wanted).id == ENTAILMENT
    with pytest.raises(HedgerowError, match="to be a paraphrase, found a hedge"):
        read(seeded)


@one_database
def test_no_model_is_asked_to_write_them(seeded: Engine) -> None:
    with reading(seeded) as session:
        before = {role: types_of(role, list_types(session)) for role in ("negation", "paraphrase")}
    load(seeded)
    with reading(seeded) as session:
        types = list_types(session)
        assert {role: types_of(role, types) for role in before} == before
        assert [entry.id for entry in types if entry.imported] == [ENTAILMENT, CONTRADICTION]
        assert all(entry.own for entry in types if entry.imported)


@one_database
def test_large_numbers_wait_for_the_next_diagnostics_run(
    seeded: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MEASURED_AT_ONCE > 1_000
    monkeypatch.setattr("curation.anchors.importing.nli_insert.MEASURED_AT_ONCE", 4)
    assert load(seeded).originals.measured is False
    with reading(seeded) as session:
        assert count_without_measures(session) == 5


def test_their_guidelines_name_reasons_that_there_are() -> None:
    labels = {reason.label.lower() for reason in REJECT_REASONS}
    for wanted in ORIGINAL_TYPES.values():
        guideline = parse_guideline(wanted.guideline)
        assert guideline.asked_for and guideline.rules
        assert {example.verdict for example in guideline.of(ExampleKind.BAD)} <= labels
        assert guideline.of(ExampleKind.GOOD) and guideline.of(ExampleKind.BORDERLINE)


@pytest.mark.databases("postgresql")
def test_many_originals_are_looked_up_by_index_in_a_new_table(seeded: Engine) -> None:
    """PostgreSQL assumed that the table was empty, and read all of it for every 500 rows."""
    count = 3000
    lines = [
        f"Train {n} leaves from here.,Train {n} is somewhere.,Train {n} stays."
        for n in range(count)
    ]
    text = "premise,entailment,contradiction\n" + "\n".join(lines)
    read_rows: dict[str, int] = {}

    def note(connection: Connection) -> None:
        query = "SELECT relname, seq_tup_read FROM pg_stat_xact_user_tables"
        read_rows.update(connection.exec_driver_sql(query).all())

    event.listen(seeded, "commit", note)
    added = load(seeded, text, accept=True)
    assert added.originals.total == 2 * count
    # Reading the whole table for each 500 rows took 216,000. For a few batches, a table that an
    # earlier test emptied is misjudged.
    assert read_rows["variant"] < 12 * added.originals.total
