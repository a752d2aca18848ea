"""Importing a file of variants: what is stored, once and completely, and what is refused."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session
from sqlmodel import SQLModel, col

from curation.actions import OpenProject
from curation.decisions.reviewers import LABELS
from curation.diagnostics import measuring
from curation.editing.anchors import correct_anchor, retire_anchor
from curation.editing.own_types import add_type, retire_type
from curation.editing.type_drafts import OwnType
from curation.importing import variants
from curation.importing.anchor_rows import About
from curation.importing.staged import Staged
from curation.importing.variant_choices import Choices
from curation.importing.variant_entries import LeftOut
from curation.importing.variant_preview import against, left_out, nothing_left, preview
from curation.importing.variants import KIND, ImportVariants, VariantFile, create_import, read, work
from curation.release.export.release_folder import export_release, zip_export
from curation.review.undo import undo
from curation.tables.files import parts_of_path, parts_of_upload
from curation.tables.table import open_table
from curation.taxonomy.project_types import seed_taxonomy
from db.engine import reading, writing
from db.errors import HedgerowError, RunEnded
from db.execution import execute
from db.models import (
    Anchor,
    AnchorRevision,
    Decision,
    Reviewer,
    Source,
    Split,
    Status,
    Variant,
    Verdict,
)
from db.runs import requeue
from db.settings import load_settings
from tests.curation.support.families import add_family
from tests.support.databases import Copies, both_databases, opened
from tests.support.factories import add_anchor, freeze, model, person

ROWS = [
    {
        "anchor": "The bridge is safe.",
        "text": "The bridge is not safe.",
        "type": "verbal",
        "verdict": "accept",
        "reviewer": "Ada",
    },
    {
        "anchor": "The bridge is safe.",
        "text": "The bridge is probably safe.",
        "type": "word",
        "cue": "probably",
        "verdict": "reject",
        "reviewer": "Ada",
        "reason": "Not a hedge",
        "note": "It still stands.",
    },
    {"anchor": "The ferry is late.", "text": "The ferry is early.", "type": "Lexical negation"},
]
HEDGED = OwnType(
    label="Doubt",
    role="hedge",
    definition="The writer doubts it.",
    example_anchor="It rains.",
    example="I doubt that it rains.",
)
BRIDGE, NOT_SAFE, PROBABLY = "The bridge is safe.", ROWS[0]["text"], ROWS[1]["text"]


@pytest.fixture
def seeded(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An empty project. No measuring process is started."""
    monkeypatch.setattr(measuring, "start_process", lambda *_: None)
    with writing(engine) as session:
        seed_taxonomy(session)
    return engine


def staged(engine: Engine, place: Path | list[dict[str, Any]], *mapping: str) -> Staged:
    """The parsed file."""
    if isinstance(place, Path):
        parts = parts_of_path(place)
    else:
        data = "".join(json.dumps(row) + "\n" for row in place).encode()
        parts = parts_of_upload(data, "mine.jsonl")
    table = open_table(parts)
    project = OpenProject(load_settings(), engine)
    return read(project, ImportVariants(mapping=mapping), VariantFile(parts, table))


def choices(**more: Any) -> Choices:
    return Choices(**{"about": About("mine", "CC0")} | more)


def load(
    engine: Engine, place: Path | list[dict[str, Any]], *mapping: str, **more: Any
) -> dict[str, Any]:
    """Import the file. Returns the result, which the preview must have predicted."""
    read, chosen, settings = staged(engine, place, *mapping), choices(**more), load_settings()
    with writing(engine) as session:
        previewed = preview(session, read, chosen)
        run = create_import(session, settings, read, chosen)
    done = execute(engine, settings, run.id, {KIND: work})
    for name in ("anchors", "variants", "decisions"):
        assert done[name] == getattr(previewed, name)
    assert done["left_out"] == {reason.value: count for reason, count in previewed.left_out.items()}
    return done


def numbers(done: dict[str, Any]) -> tuple[int, int, int]:
    return done["anchors"], done["variants"], done["decisions"]


def statuses(engine: Engine) -> dict[str, Status]:
    with reading(engine) as session:
        return dict(session.execute(select(col(Variant.text), col(Variant.status))).all())


def counts(engine: Engine) -> dict[str, int]:
    tables = (Source, Anchor, AnchorRevision, Variant, Decision, Reviewer)
    with reading(engine) as session:
        return {
            table.__name__: session.execute(select(func.count()).select_from(table)).scalar_one()
            for table in tables
        }


def all_of(session: Session, table: type[SQLModel]) -> list[Any]:
    return list(session.execute(select(table).order_by(table.id)).scalars())  # type: ignore[attr-defined]


@both_databases
def test_anchors_variants_cues_and_verdicts_are_stored(seeded: Engine) -> None:
    done = load(seeded, ROWS)
    assert done["types"] == {"verbal": 1, "word": 1, "lexical": 1}
    assert (numbers(done), done["verdicts"]) == ((2, 3, 2), {"Ada": 2})
    with reading(seeded) as session:
        variants, decisions = all_of(session, Variant), all_of(session, Decision)
        (source,) = all_of(session, Source)
    assert (source.name, source.licence) == ("mine", "CC0")
    assert {v.text: (v.type_id, v.cue, v.status) for v in variants} == {
        NOT_SAFE: ("verbal", None, Status.ACCEPTED),
        PROBABLY: ("word", "probably", Status.REJECTED),
        "The ferry is early.": ("lexical", None, Status.PENDING),
    }
    assert {(v.provider, v.model) for v in variants} == {("imported", "mine.jsonl")}
    notes = {one.verdict: (one.reason, one.note) for one in decisions}
    assert "mine.jsonl" in notes[Verdict.ACCEPT][1]
    reason, note = notes[Verdict.REJECT]
    assert reason == "not_a_hedge" and note.endswith("mine.jsonl. It still stands.")


@both_databases
def test_a_second_import_adds_nothing(seeded: Engine) -> None:
    load(seeded, ROWS)
    before = counts(seeded)
    done = load(seeded, ROWS)
    assert numbers(done) == (0, 0, 0) and done["left_out"] == {"there": 1, "verdict_there": 2}
    assert counts(seeded) == before
    with reading(seeded) as session:
        previewed = preview(session, staged(seeded, ROWS), choices())
    places = {"there": "line 3 of mine.jsonl", "verdict_there": "line 1 of mine.jsonl"}
    assert previewed.places == places
    assert [(one.reason, one.verdicts) for one in previewed.examples] == [(LeftOut.THERE, ())] * 3
    assert nothing_left(previewed)


@pytest.mark.slow
@both_databases
def test_one_undo_reverses_all_verdicts_of_a_reviewer(
    seeded: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(variants, "AT_ONCE", 1)  # a transaction for each anchor
    ferry = ROWS[2] | {"verdict": "yes", "reviewer": "Ada"}
    load(seeded, [*ROWS[:2], ferry, ferry | {"reviewer": "Bo"}])
    with writing(seeded) as session:
        undone = undo(session, reviewer_id=person(session, "Ada"))
    assert undone is not None and undone.decisions == 3
    assert statuses(seeded) == {
        NOT_SAFE: Status.PENDING,
        PROBABLY: Status.PENDING,
        "The ferry is early.": Status.ACCEPTED,  # by Bo
    }
    assert load(seeded, ROWS)["decisions"] == 2  # undone ones can be imported again


def test_annotators_who_disagree_are_in_conflict(seeded: Engine) -> None:
    load(seeded, [ROWS[0], ROWS[0] | {"verdict": "reject", "reviewer": "Bo"}])
    assert statuses(seeded) == {NOT_SAFE: Status.CONFLICT}


@both_databases
def test_verdicts_reach_variants_that_are_here_already(seeded: Engine) -> None:
    with writing(seeded) as session:
        add_family(session, BRIDGE, {"verbal": [NOT_SAFE]})
    done = load(seeded, ROWS[:2])
    assert numbers(done) == (0, 0, 1)
    assert done["left_out"] == {"other_source": 1}  # the new text would get that source's licence
    assert statuses(seeded) == {NOT_SAFE: Status.ACCEPTED}


@pytest.mark.slow
@both_databases
def test_the_preview_says_what_differs_from_the_project(seeded: Engine) -> None:
    load(seeded, [ROWS[0], ROWS[0] | {"text": "No bridge is safe.", "type": "absolute"}])
    rejecting = ROWS[0] | {"verdict": "reject", "reviewer": "Bo"}
    rows = [ROWS[2], rejecting, ROWS[1], rejecting | {"text": "The bridge is unsafe."}]
    about = About("yours")
    with reading(seeded) as session:
        previewed = preview(session, staged(seeded, rows), choices(about=about))
    assert previewed.against == {(Verdict.REJECT, Status.ACCEPTED): 1}
    assert "1 rejects" in against(previewed) and previewed.elsewhere["mine"].variants == 2
    (found,) = left_out(previewed)
    assert (found.number, found.first) == (2, "line 3 of mine.jsonl")
    assert "'mine'" in found.what and BRIDGE in found.what
    assert {one.variant.text: (one.reason, one.verdicts) for one in previewed.examples} == {
        "The ferry is early.": (None, ()),
        NOT_SAFE: (LeftOut.THERE, (Verdict.REJECT,)),
        PROBABLY: (LeftOut.OTHER_SOURCE, ()),
        "The bridge is unsafe.": (LeftOut.OTHER_SOURCE, ()),
    }
    load(seeded, rows, about=about)
    assert statuses(seeded)[NOT_SAFE] is Status.CONFLICT


def test_a_models_acceptance_of_what_is_accepted_adds_nothing(seeded: Engine) -> None:
    load(seeded, ROWS[:2])
    by_a_model = [{k: row[k] for k in ("anchor", "text", "type")} for row in ROWS[:2]]
    done = load(seeded, [row | {"decided_by": "model"} for row in by_a_model])
    assert (done["decisions"], done["left_out"]) == (1, {"verdict_there": 1})


def test_nothing_is_added_to_retired_anchors_and_earlier_wordings(seeded: Engine) -> None:
    with writing(seeded) as session:
        bridge = add_anchor(session, BRIDGE, source="mine")
        ferry = add_anchor(session, "The ferry is late.", source="mine")
        ada, new = person(session), "The bridge is very safe."
        correct_anchor(session, bridge.id, new, reviewer_id=ada, expected_revision=1)
        retire_anchor(session, ferry.id)
    done = load(seeded, ROWS, about=About("mine"))
    assert numbers(done) == (0, 0, 0) and done["left_out"] == {"retired": 1, "earlier_wording": 2}


def test_triples_become_variants_of_the_types_that_their_words_show(seeded: Engine) -> None:
    hedges = (PROBABLY, "I'm not sure, but the bridge is safe.")
    negations = (
        *(NOT_SAFE, "No bridge is safe.", "The bridge is unsafe."),
        *("The bridge is dangerous.", "The bridge is hardly safe."),
    )
    triples = [
        {"anchor": BRIDGE, "positive": hedge, "negative": negation}
        for hedge in hedges
        for negation in negations
    ]
    done = load(seeded, triples, accept=True)
    types = dict.fromkeys(("verbal", "absolute", "affixal", "lexical", "word", "phrase"), 1)
    assert (done["types"], done["left_out"]) == (types, {"repeated": 13, "undecided": 1})
    assert done["verdicts"] == {LABELS: 6}
    chosen = load(seeded, triples, undecided={"negation": "free_contradiction"})
    assert chosen["types"] == {"free_contradiction": 1}
    with reading(seeded) as session:
        cues = {v.type_id: v.cue for v in all_of(session, Variant) if v.cue}
    assert cues == {"word": "probably", "phrase": "not sure"}


def test_a_wide_table_has_a_column_for_each_type(seeded: Engine) -> None:
    wide = {"s": "It is safe.", "verbal": "It is not safe.", "h": "It may be safe.", "lexical": ""}
    assert load(seeded, [wide], "s=anchor", "h=word")["types"] == {"verbal": 1, "word": 1}
    with reading(seeded) as session:
        assert {v.type_id: v.cue for v in all_of(session, Variant)} == {
            "verbal": None,
            "word": "may",
        }


def test_attributes_of_an_anchor_in_a_file_are_kept(seeded: Engine) -> None:
    about = {"split": "dev", "source": "Field notes", "license": "CC BY 4.0", "genre": "law"}
    about |= {"doc_id": "d1", "row_id": "7"}
    load(seeded, [ROWS[0] | about | {"language": "en-GB"}, ROWS[2]])
    with reading(seeded) as session:
        anchors, sources = all_of(session, Anchor), all_of(session, Source)
    licences = {source.id: (source.name, source.licence) for source in sources}
    assert [(licences[a.source_id], a.genre, a.language) for a in anchors] == [
        (("Field notes", "CC BY 4.0"), "law", "en-GB"),
        (("mine", "CC0"), "", "en"),
    ]
    assert anchors[0].split is Split.VALIDATION
    assert [(a.document_id, a.row_id) for a in anchors] == [("d1", "7"), ("", "")]


def test_a_document_is_in_one_split_and_the_preview_says_so(seeded: Engine) -> None:
    rows = [ROWS[0] | {"docid": "d1", "split": "dev"}, ROWS[2] | {"docid": "d1", "split": "train"}]
    with reading(seeded) as session:
        assert preview(session, staged(seeded, rows), choices()).moved == 1
    load(seeded, rows)
    with reading(seeded) as session:
        assert {anchor.split for anchor in all_of(session, Anchor)} == {Split.VALIDATION}


@both_databases
def test_a_run_that_breaks_off_has_stored_whole_anchors_and_continues(
    seeded: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(variants, "AT_ONCE", 1)
    settings, read = load_settings(), staged(seeded, ROWS)
    with writing(seeded) as session:
        run = create_import(session, settings, read, choices())
    store, calls = variants.store_families, []

    def fails(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise HedgerowError("The disk is full.")
        return store(*arguments)

    monkeypatch.setattr(variants, "store_families", fails)
    with pytest.raises(RunEnded, match="The disk is full"):
        execute(seeded, settings, run.id, {KIND: work})
    assert len(statuses(seeded)) == 2  # both of the first anchor
    with writing(seeded) as session:
        requeue(session, run.id)
    assert execute(seeded, settings, run.id, {KIND: work})["anchors"] == 1
    assert len(statuses(seeded)) == 3
    with reading(seeded) as session:
        assert len({d.action_id for d in all_of(session, Decision)}) == 1


def test_the_read_file_goes_when_nobody_holds_it(seeded: Engine) -> None:
    read = staged(seeded, ROWS)
    path = read.path
    assert path.exists()
    del read
    assert not path.exists()


@pytest.mark.parametrize(
    ("row", "fact"),
    [
        ({"type": "emphatic"}, "'emphatic' in column 'type' on line 2 of mine.jsonl"),
        ({"verdict": "perhaps"}, "'verdict', found 'perh"),
        ({"split": "dev2"}, r"in 'split': .*\(train, validation, test\), found 'dev2'"),
        ({"reviewer": "x" * 90}, "line 2 of mine.jsonl in .* a reviewer's name"),
        ({"cue": "x" * 300}, "line 2 of mine.jsonl in .* a cue of at most 200"),
        ({"language": "??"}, "line 2 of mine.jsonl in .* a language tag"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(
    seeded: Engine, row: dict[str, Any], fact: str
) -> None:
    with pytest.raises(HedgerowError, match=fact):
        staged(seeded, [ROWS[0], ROWS[2] | row])


def test_unusable_variants_are_counted_with_their_first_position(seeded: Engine) -> None:
    rows: list[dict[str, Any]] = [
        ROWS[0],
        ROWS[0] | {"anchor": " "},
        ROWS[0] | {"anchor": "x" * 1_000_000},
        ROWS[0] | {"text": "x" * 1_000_000},
        ROWS[0] | {"text": ROWS[0]["anchor"]},
        ROWS[0] | {"text": "It\x07s."},
        ROWS[0] | {"text": ""},
        ROWS[0] | {"type": ""},
        ROWS[0] | {"anchor": 7},
        ROWS[0] | {"anchor": [ROWS[0]["anchor"]], "text": [ROWS[0]["text"], 7]},
    ]
    facts = staged(seeded, rows).facts
    assert facts.left_out == {
        "no_anchor": 2,
        "anchor_not_text": 1,
        "not_text": 3,
        "replaced": 1,
        "same": 1,
        "no_variant": 1,
        "no_type": 1,
    }
    assert facts.places["same"] == "line 5 of mine.jsonl" and not facts.changed
    spaced = {"anchor": "It  is safe.", "text": "It is\nnot  safe."}
    assert staged(seeded, [ROWS[0] | spaced]).facts.changed == {"spaces": 2, "line_breaks": 1}


@pytest.mark.parametrize(
    ("first", "second", "fact"),
    [
        ({"split": "train"}, ROWS[1] | {"split": "test"}, "one split"),
        ({"source": "a"}, ROWS[1] | {"source": "b"}, "one source"),
        (
            {"source": "a", "licence": "CC0"},
            ROWS[2] | {"source": "a", "licence": "MIT"},
            "one licence",
        ),
        ({"text": ""}, ROWS[0] | {"text": ""}, "no variant to import in 2 rows"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(
    seeded: Engine, first: dict[str, Any], second: dict[str, Any], fact: str
) -> None:
    with pytest.raises(HedgerowError, match=fact):
        staged(seeded, [ROWS[0] | first, second])


def test_verdicts_need_a_name_that_a_person_can_have(seeded: Engine) -> None:
    with writing(seeded) as session:
        model(session, "Llama")
    unnamed = {key: value for key, value in ROWS[0].items() if key != "reviewer"}
    for row, reviewer, fact in (
        (unnamed, "", "1 verdict without"),
        (unnamed, "Llama", "'Llama' is the name of a model"),
        (ROWS[0] | {"reviewer": "llama"}, "Ada", "the name of a model"),
        (ROWS[0] | {"reviewer": LABELS}, "Ada", "reserved|the name of a model"),
    ):
        read = staged(seeded, [row])
        with reading(seeded) as session, pytest.raises(HedgerowError, match=fact):
            preview(session, read, choices(reviewer=reviewer))


def test_types_and_licences_must_fit_the_project(seeded: Engine) -> None:
    with writing(seeded) as session:
        session.add(Source(name="mine", licence="MIT"))
        add_type(session, HEDGED, type_id="doubt")
        retire_type(session, "doubt")
    doubted = ROWS[0] | {"type": "doubt"}
    for rows, chosen, fact in (
        (ROWS, choices(), "licence 'MIT'"),
        ([doubted], Choices(About("other")), "'doubt' is retired"),
        (ROWS, Choices(About("other"), {"negation": "word"}), r"a negation \(verbal"),
    ):
        read = staged(seeded, rows)
        with reading(seeded) as session, pytest.raises(HedgerowError, match=fact):
            preview(session, read, chosen)


@pytest.fixture
def second(copies: Copies, tmp_path: Path) -> Iterator[Engine]:
    """Another empty project."""
    with opened(copies.project(tmp_path / "second.db")) as engine:
        yield engine


TEXTS = {
    "verbal": ["The {} is not safe."],
    "absolute": ["No {} is safe."],
    "affixal": ["The {} is unsafe.", "=The {} is unsafe, says the sheet."],
    "lexical": ["The {} is dangerous."],
    "word": ["The {} is probably safe."],
    "phrase": ["I'm not entirely sure, but the {} is safe."],
    "negated_antonym": ["The {} is not dangerous."],
    "affirmation": ["The {} is safe indeed."],
    "free_hedge": ["The {} should be safe."],
    "free_contradiction": ["Nobody gets over the {} alive."],
    "doubt": ["I doubt that the {} is safe."],
    "unsupported": ["Nobody knows whether the {} is safe."],
}
CUES = {"word": "probably", "phrase": "not entirely sure", "doubt": "doubt"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "zipped"), [("hf", False), ("hf", True), ("jsonl", True), ("pairs", False)]
)
def test_an_exported_release_comes_back_with_the_same_hash(
    seeded: Engine, tmp_path: Path, second: Engine, form: str, zipped: bool
) -> None:
    pairs = form == "pairs"  # no variant that leaves the claim open is in any pair
    with writing(seeded) as session:
        add_type(session, HEDGED, type_id="doubt")
        ada, llm = person(session), model(session)
        for number, subject in enumerate(("bridge", "ferry", "kiln")):
            family = {t: [one.format(subject) for one in some] for t, some in TEXTS.items()}
            family.pop("unsupported" if pairs else "", None)
            add_family(session, f"The {subject} is safe.", family, by=(ada, llm)[number % 2])
        for variant in all_of(session, Variant):
            variant.cue = CUES.get(variant.type_id)
        anchor = all_of(session, Anchor)[0]
        anchor.split = next(split for split in Split if split != anchor.split)
        release = freeze(session).release
        place = export_release(session, release, tmp_path / "out", format=form)  # type: ignore[arg-type]
    with writing(second) as session:
        add_type(session, HEDGED, type_id="doubt")
    load(second, zip_export(place) if zipped else place, accept=pairs, reviewer="Bo")
    with writing(second) as session:
        again = freeze(session).release
    assert again.content_hash == release.content_hash
    # Pairs don't say who accepted.
    assert pairs or again.summary["decided_by"] == release.summary["decided_by"]


def test_typed_triples_keep_their_types_and_cues(seeded: Engine) -> None:
    triple = {
        "anchor": "The bridge is safe.",
        "positive": "The bridge seems safe.",
        "negative": "The bridge is hardly safe.",
        "positive_type": "word",
        "negative_type": "free_contradiction",
        "positive_cue": "seems",
        "split": "test",
    }
    done = load(seeded, [triple, triple | {"negative": "It is unsafe."}])
    assert done["types"] == {"word": 1, "free_contradiction": 2}
    with reading(seeded) as session:
        assert {v.cue for v in all_of(session, Variant)} == {"seems", None}
        assert [anchor.split for anchor in all_of(session, Anchor)] == [Split.TEST]


@pytest.mark.soak("histories")
def test_a_real_corpus_survives_export_and_import(
    starter_engine: Engine, tmp_path: Path, second: Engine
) -> None:
    with writing(starter_engine) as session:
        release = freeze(session).release
        place = export_release(session, release, tmp_path / "out", format="hf")
    assert load(second, place)["types"] == release.summary["types"]
    with writing(second) as session:
        again = freeze(session).release
    assert again.content_hash == release.content_hash
    assert again.summary["decided_by"] == release.summary["decided_by"]
