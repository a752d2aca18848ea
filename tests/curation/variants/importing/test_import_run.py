"""Importing a file of variants: what is stored, once and as a whole."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session
from sqlmodel import SQLModel, col

from curation.anchors.changes import correct_anchor, retire_anchor
from curation.anchors.importing.insert import About
from curation.diagnostics import measuring
from curation.release.export.release_folder import export_release
from curation.release.export.zip_file import zip_export
from curation.release.freezing import create_release
from curation.review.people.reviewers import LABELS
from curation.review.undo import undo
from curation.taxonomy.own_types import add_type, retire_type
from curation.taxonomy.project_types import all_types, seed_taxonomy
from curation.taxonomy.type_drafts import OwnType
from curation.variants.importing import import_run
from curation.variants.importing.choices import Choices
from curation.variants.importing.entries import LeftOut
from curation.variants.importing.import_run import KIND, create_import, work
from curation.variants.importing.in_words import LeftOutCount, against, left_out, nothing_left
from curation.variants.importing.preview import preview
from curation.variants.importing.roles import (
    check_roles,
    guess_roles,
    parse_roles,
    types_by_name,
    with_given,
)
from curation.variants.importing.staged import Staged
from curation.variants.importing.staging import stage
from curation.variants.importing.tables.parts import parts_of_path, parts_of_upload
from curation.variants.importing.tables.table import open_table
from db.engine import reading, writing
from db.errors import HedgerowError, RunEnded
from db.execution import execute
from db.migrate import upgrade
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
from db.settings import Settings, load_settings
from tests.curation.support.families import add_family
from tests.support.databases import Server, both_databases, one_database, opened, sqlite
from tests.support.factories import add_anchor, model, person

pytestmark = both_databases

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


@pytest.fixture
def settings(home: Path) -> Settings:
    return load_settings()


@pytest.fixture
def seeded(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An empty project; no process that measures is started."""
    monkeypatch.setattr(measuring, "start_process", lambda *_: None)
    with writing(engine) as session:
        seed_taxonomy(session)
    return engine


@pytest.fixture
def second(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Engine]:
    """Another empty project, on the same kind of database."""
    monkeypatch.setattr(measuring, "start_process", lambda *_: None)
    server: Server | None = request.getfixturevalue("server") if backend != "sqlite" else None
    url = server.create() if server else sqlite(tmp_path / "second.db")
    with opened(url) as engine:
        upgrade(engine)
        with writing(engine) as session:
            seed_taxonomy(session)
        yield engine
    if server:
        server.drop(url)


def staged(engine: Engine, place: Path | list[dict[str, Any]], *mapping: str) -> Staged:
    """The file, read."""
    if isinstance(place, Path):
        parts = parts_of_path(place)
    else:
        data = "".join(json.dumps(row) + "\n" for row in place).encode()
        parts = parts_of_upload(data, "mine.jsonl")
    table = open_table(parts)
    with reading(engine) as session:
        types = all_types(session)
    names = types_by_name(types.values())
    given = parse_roles(mapping, columns=table.columns, types=names, name=table.name)
    roles = with_given(guess_roles(table.columns, names), given)
    check_roles(roles, columns=table.columns, name=table.name)
    return stage(table, parts, roles=roles, types=types)


def choices(**more: Any) -> Choices:
    return Choices(**{"about": About("mine", "CC0")} | more)


def load(
    engine: Engine,
    settings: Settings,
    place: Path | list[dict[str, Any]],
    *mapping: str,
    **more: Any,
) -> dict[str, Any]:
    """Import the file; its result, which the preview must have said."""
    read = staged(engine, place, *mapping)
    chosen = choices(**more)
    with reading(engine) as session:
        said = preview(session, read, chosen)
    with writing(engine) as session:
        run = create_import(session, settings, read, chosen)
    done = execute(engine, settings, run.id, {KIND: work})
    assert (done["anchors"], done["variants"], done["decisions"]) == (
        said.anchors,
        said.variants,
        said.decisions,
    )
    assert done["left_out"] == {reason.value: count for reason, count in said.left_out.items()}
    return done


def statuses(engine: Engine) -> dict[str, Status]:
    with reading(engine) as session:
        query = select(col(Variant.text), col(Variant.status))
        return dict(session.execute(query).all())


def counts(engine: Engine) -> dict[str, int]:
    tables = (Source, Anchor, AnchorRevision, Variant, Decision, Reviewer)
    with reading(engine) as session:
        return {
            table.__name__: session.execute(select(func.count()).select_from(table)).scalar_one()
            for table in tables
        }


def all_of(session: Session, table: type[SQLModel]) -> list[Any]:
    return list(session.execute(select(table).order_by(table.id)).scalars())  # type: ignore[attr-defined]


def test_anchors_variants_cues_and_verdicts_are_stored(seeded: Engine, settings: Settings) -> None:
    done = load(seeded, settings, ROWS)
    assert done["types"] == {"verbal": 1, "word": 1, "lexical": 1}
    assert done["verdicts"] == {"Ada": 2}
    with reading(seeded) as session:
        anchors, variants = all_of(session, Anchor), all_of(session, Variant)
        (accepted, rejected) = all_of(session, Decision)
        (source,) = all_of(session, Source)
    assert (source.name, source.licence) == ("mine", "CC0")
    assert len(anchors) == 2
    by_text = {variant.text: variant for variant in variants}
    word = by_text["The bridge is probably safe."]
    assert (word.type_id, word.cue, word.status) == ("word", "probably", Status.REJECTED)
    assert (word.provider, word.model) == ("imported", "mine.jsonl")
    assert by_text["The bridge is not safe."].status is Status.ACCEPTED
    assert by_text["The ferry is early."].status is Status.PENDING
    decisions = {decision.verdict: decision for decision in (accepted, rejected)}
    assert decisions[Verdict.ACCEPT].note == "Imported from mine.jsonl."
    assert decisions[Verdict.REJECT].reason == "not_a_hedge"
    assert decisions[Verdict.REJECT].note == "Imported from mine.jsonl. It still stands."


def test_a_second_import_adds_nothing(seeded: Engine, settings: Settings) -> None:
    load(seeded, settings, ROWS)
    before = counts(seeded)
    done = load(seeded, settings, ROWS)
    assert (done["anchors"], done["variants"], done["decisions"]) == (0, 0, 0)
    assert done["left_out"] == {"there": 1, "verdict_there": 2}
    assert counts(seeded) == before
    with reading(seeded) as session:
        said = preview(session, staged(seeded, ROWS), choices())
    assert said.places == {"there": "line 3 of mine.jsonl", "verdict_there": "line 1 of mine.jsonl"}
    assert [(one.reason, one.verdicts) for one in said.examples] == [(LeftOut.THERE, ())] * 3
    assert nothing_left(said) == "Nothing is left to import: the project has all of it already."


def test_one_undo_takes_all_verdicts_of_a_reviewer_back(
    seeded: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_run, "AT_ONCE", 1)  # a transaction for each anchor
    ferry = ROWS[2] | {"verdict": "yes", "reviewer": "Ada"}
    load(seeded, settings, [*ROWS[:2], ferry, ferry | {"reviewer": "Bo"}])
    with writing(seeded) as session:
        undone = undo(session, reviewer_id=person(session, "Ada"))
    assert undone is not None and undone.decisions == 3
    assert statuses(seeded) == {
        "The bridge is not safe.": Status.PENDING,
        "The bridge is probably safe.": Status.PENDING,
        "The ferry is early.": Status.ACCEPTED,  # by Bo
    }
    again = load(seeded, settings, ROWS)
    assert again["decisions"] == 2  # what was taken back can be imported again


def test_annotators_who_disagree_are_in_conflict(seeded: Engine, settings: Settings) -> None:
    load(seeded, settings, [ROWS[0], ROWS[0] | {"verdict": "reject", "reviewer": "Bo"}])
    assert statuses(seeded) == {"The bridge is not safe.": Status.CONFLICT}


def test_verdicts_reach_variants_that_are_here_already(seeded: Engine, settings: Settings) -> None:
    with writing(seeded) as session:
        add_family(session, "The bridge is safe.", {"verbal": ["The bridge is not safe."]})
    done = load(seeded, settings, ROWS[:2])
    assert (done["anchors"], done["variants"], done["decisions"]) == (0, 0, 1)
    assert done["left_out"] == {"other_source": 1}  # the new word would get that source's licence
    assert statuses(seeded) == {"The bridge is not safe.": Status.ACCEPTED}


def test_the_preview_says_what_differs_from_the_project(seeded: Engine, settings: Settings) -> None:
    bridge = "The bridge is safe."
    load(seeded, settings, [ROWS[0], ROWS[0] | {"text": "No bridge is safe.", "type": "absolute"}])
    rejecting = ROWS[0] | {"verdict": "reject", "reviewer": "Bo"}
    rows = [ROWS[2], rejecting, ROWS[1], rejecting | {"text": "The bridge is unsafe."}]
    about = About("yours")
    with reading(seeded) as session:
        said = preview(session, staged(seeded, rows), choices(about=about))
    assert said.against == {(Verdict.REJECT, Status.ACCEPTED): 1}
    assert "1 rejects a variant that is accepted here." in against(said)
    assert said.elsewhere["mine"].variants == 2
    other = f"variants of anchors that the source 'mine' has here, such as “{bridge}”"
    add = "(give the file that source to add them)"
    assert left_out(said) == [LeftOutCount(2, f"{other} {add}", "line 3 of mine.jsonl")]
    assert {one.variant.text: (one.reason, one.verdicts) for one in said.examples} == {
        "The ferry is early.": (None, ()),
        "The bridge is not safe.": (LeftOut.THERE, (Verdict.REJECT,)),
        "The bridge is probably safe.": (LeftOut.OTHER_SOURCE, ()),
        "The bridge is unsafe.": (LeftOut.OTHER_SOURCE, ()),
    }
    load(seeded, settings, rows, about=about)
    assert statuses(seeded)["The bridge is not safe."] is Status.CONFLICT


def test_a_models_acceptance_of_what_is_accepted_adds_nothing(
    seeded: Engine, settings: Settings
) -> None:
    load(seeded, settings, ROWS[:2])
    by_a_model = [{k: row[k] for k in ("anchor", "text", "type")} for row in ROWS[:2]]
    done = load(seeded, settings, [row | {"decided_by": "model"} for row in by_a_model])
    assert (done["decisions"], done["left_out"]) == (1, {"verdict_there": 1})


def test_nothing_is_added_to_retired_anchors_and_earlier_wordings(
    seeded: Engine, settings: Settings
) -> None:
    with writing(seeded) as session:
        bridge = add_anchor(session, "The bridge is safe.", source="mine")
        ferry = add_anchor(session, "The ferry is late.", source="mine")
        better = "The bridge is very safe."
        ada = person(session)
        correct_anchor(session, bridge.id, better, reviewer_id=ada, expected_revision=1)
        retire_anchor(session, ferry.id)
    done = load(seeded, settings, ROWS, about=About("mine"))
    assert (done["anchors"], done["variants"], done["decisions"]) == (0, 0, 0)
    assert done["left_out"] == {"retired": 1, "earlier_wording": 2}


def test_triples_become_variants_of_the_types_that_their_words_show(
    seeded: Engine, settings: Settings
) -> None:
    anchor = "The bridge is safe."
    hedges = ("The bridge is probably safe.", "I'm not sure, but the bridge is safe.")
    negations = (
        *("The bridge is not safe.", "No bridge is safe.", "The bridge is unsafe."),
        *("The bridge is dangerous.", "The bridge is hardly safe."),
    )
    triples = [
        {"anchor": anchor, "positive": hedge, "negative": negation}
        for hedge in hedges
        for negation in negations
    ]
    done = load(seeded, settings, triples, accept=True)
    types = dict.fromkeys(("verbal", "absolute", "affixal", "lexical", "word", "phrase"), 1)
    assert done["types"] == types
    assert done["left_out"] == {"undecided": 1}
    assert done["verdicts"] == {LABELS: 6}
    chosen = load(seeded, settings, triples, undecided={"negation": "free_contradiction"})
    assert chosen["types"] == {"free_contradiction": 1}
    with reading(seeded) as session:
        cues = {v.type_id: v.cue for v in all_of(session, Variant) if v.cue}
    assert cues == {"word": "probably", "phrase": "not sure"}


def test_a_wide_table_has_a_column_for_each_type(seeded: Engine, settings: Settings) -> None:
    wide = [
        {"s": "It is safe.", "verbal": "It is not safe.", "h": "It may be safe.", "lexical": ""}
    ]
    done = load(seeded, settings, wide, "s=anchor", "h=word")
    assert done["types"] == {"verbal": 1, "word": 1}
    with reading(seeded) as session:
        assert [v.cue for v in all_of(session, Variant) if v.type_id == "word"] == ["may"]


def test_what_an_anchor_says_of_itself_is_kept(seeded: Engine, settings: Settings) -> None:
    about = {"split": "dev", "source": "Field notes", "license": "CC BY 4.0", "genre": "law"}
    load(seeded, settings, [ROWS[0] | about | {"language": "en-GB"}, ROWS[2]])
    with reading(seeded) as session:
        anchors, sources = all_of(session, Anchor), all_of(session, Source)
    licences = {source.id: (source.name, source.licence) for source in sources}
    assert [(licences[a.source_id], a.genre, a.language) for a in anchors] == [
        (("Field notes", "CC BY 4.0"), "law", "en-GB"),
        (("mine", "CC0"), "", "en"),
    ]
    assert anchors[0].split is Split.VALIDATION


@pytest.mark.parametrize("form", ["hf", "jsonl", "pairs"])
@pytest.mark.parametrize("zipped", [False, True])
def test_an_exported_release_comes_back_with_the_same_hash(
    seeded: Engine,
    settings: Settings,
    tmp_path: Path,
    second: Engine,
    form: str,
    zipped: bool,
) -> None:
    texts = {
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
    }
    if form != "pairs":  # what leaves the claim open is in no pair
        texts["unsupported"] = ["Nobody knows whether the {} is safe."]
    cues = {"word": "probably", "phrase": "not entirely sure", "doubt": "doubt"}
    with writing(seeded) as session:
        add_type(session, HEDGED, type_id="doubt")
        ada, llm = person(session), model(session)
        for number, subject in enumerate(("bridge", "ferry", "kiln")):
            family = {t: [one.format(subject) for one in some] for t, some in texts.items()}
            by = session.get_one(Reviewer, (ada, llm)[number % 2])
            add_family(session, f"The {subject} is safe.", family, by=by)
        for variant in all_of(session, Variant):
            variant.cue = cues.get(variant.type_id)
        anchor = all_of(session, Anchor)[0]
        anchor.split = next(split for split in Split if split != anchor.split)
        release = create_release(session).release
        content_hash, decided = release.content_hash, release.summary["decided_by"]
        place = export_release(session, release, tmp_path / "out", format=form)
    place = zip_export(place) if zipped else place

    with writing(second) as session:
        add_type(session, HEDGED, type_id="doubt")
    load(second, settings, place, accept=form == "pairs", reviewer="Bo")
    with writing(second) as session:
        again = create_release(session).release
        assert again.content_hash == content_hash
        if form != "pairs":  # which does not say who accepted
            assert again.summary["decided_by"] == decided


def test_typed_triples_keep_their_types_and_cues(seeded: Engine, settings: Settings) -> None:
    triple = {
        "anchor": "The bridge is safe.",
        "positive": "The bridge seems safe.",
        "negative": "The bridge is hardly safe.",
        "positive_type": "word",
        "negative_type": "free_contradiction",
        "positive_cue": "seems",
        "split": "test",
    }
    done = load(seeded, settings, [triple, triple | {"negative": "It is unsafe."}])
    assert done["types"] == {"word": 1, "free_contradiction": 2}
    with reading(seeded) as session:
        assert {v.cue for v in all_of(session, Variant)} == {"seems", None}
        assert [anchor.split for anchor in all_of(session, Anchor)] == [Split.TEST]


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"type": "emphatic"}, "The type 'emphatic' in 'type' on line 2 of mine.jsonl is none of"),
        ({"verdict": "perhaps"}, "Expected a verdict (accept or reject) in 'verdict', found 'perh"),
        ({"split": "dev2"}, "Expected a split (train, validation, test) in 'split', found 'dev2' "),
        ({"reviewer": "x" * 90}, "On line 2 of mine.jsonl: Expected a reviewer's name of at most"),
        ({"cue": "x" * 300}, "On line 2 of mine.jsonl: Expected a cue of at most 200 characters"),
        ({"language": "??"}, "On line 2 of mine.jsonl: Expected a language such as 'en'"),
    ],
)
def test_a_value_that_is_none_is_refused_and_nothing_is_stored(
    seeded: Engine, row: dict[str, Any], sentence: str
) -> None:
    before = counts(seeded)
    with pytest.raises(HedgerowError) as error:
        staged(seeded, [ROWS[0], ROWS[2] | row])
    assert sentence in str(error.value)
    assert counts(seeded) == before


def test_what_cannot_be_a_variant_is_counted_with_its_first_place(seeded: Engine) -> None:
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
    ]
    facts = staged(seeded, rows).facts
    assert facts.left_out == {
        "no_anchor": 2,
        "anchor_not_text": 1,
        "not_text": 2,
        "same": 1,
        "no_variant": 1,
        "no_type": 1,
    }
    assert facts.places["same"] == "line 5 of mine.jsonl"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([ROWS[0] | {"split": "train"}, ROWS[1] | {"split": "test"}], "one split for all variants"),
        ([ROWS[0] | {"source": "a"}, ROWS[1] | {"source": "b"}], "one source for all variants"),
        (
            [
                ROWS[0] | {"source": "a", "licence": "CC0"},
                ROWS[2] | {"source": "a", "licence": "MIT"},
            ],
            "one licence for each source",
        ),
        ([ROWS[0] | {"text": ""}], "There is no variant to import in 1 row of"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(
    seeded: Engine, rows: list[dict[str, Any]], words: str
) -> None:
    with pytest.raises(HedgerowError, match=words):
        staged(seeded, rows)


def test_verdicts_need_a_name_that_a_person_can_have(seeded: Engine) -> None:
    with writing(seeded) as session:
        model(session, "Llama")
    unnamed = [{key: value for key, value in ROWS[0].items() if key != "reviewer"}]
    cases = [
        (unnamed, "", "has 1 verdict without a reviewer's name"),
        (unnamed, "Llama", "'Llama' is the name of a model reviewer"),
        ([ROWS[0] | {"reviewer": "llama"}], "Ada", "is the name of a model reviewer"),
        ([ROWS[0] | {"reviewer": LABELS}], "Ada", "is reserved|is the name of a model"),
    ]
    for rows, reviewer, words in cases:
        read = staged(seeded, rows)
        with reading(seeded) as session, pytest.raises(HedgerowError, match=words):
            preview(session, read, choices(reviewer=reviewer))


def test_types_and_licences_must_fit_the_project(seeded: Engine) -> None:
    with writing(seeded) as session:
        session.add(Source(name="mine", licence="MIT"))
        add_type(session, HEDGED, type_id="doubt")
        retire_type(session, "doubt")
    with reading(seeded) as session:
        with pytest.raises(HedgerowError, match="there already with the licence 'MIT'"):
            preview(session, staged(seeded, ROWS), choices())
        doubted = staged(seeded, [ROWS[0] | {"type": "doubt"}])
        with pytest.raises(HedgerowError, match="The type 'doubt' is retired"):
            preview(session, doubted, Choices(About("other")))
        wrong = Choices(About("other"), {"negation": "word"})
        read = staged(seeded, ROWS)
        with pytest.raises(HedgerowError, match=r"Expected a type for a negation \(verbal"):
            preview(session, read, wrong)


def test_a_run_that_breaks_off_has_stored_whole_anchors_and_goes_on(
    seeded: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_run, "AT_ONCE", 1)
    read = staged(seeded, ROWS)
    with writing(seeded) as session:
        run = create_import(session, settings, read, choices())
    store, calls = import_run.store_families, []

    def fails(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise HedgerowError("The disk is full.")
        return store(*arguments)

    monkeypatch.setattr(import_run, "store_families", fails)
    with pytest.raises(RunEnded, match="The disk is full"):
        execute(seeded, settings, run.id, {KIND: work})
    assert len(statuses(seeded)) == 2  # both of the first anchor
    with writing(seeded) as session:
        requeue(session, run.id)
    done = execute(seeded, settings, run.id, {KIND: work})
    assert done["anchors"] == 1
    assert len(statuses(seeded)) == 3
    with reading(seeded) as session:
        actions = {d.action_id for d in all_of(session, Decision)}
    assert len(actions) == 1


def test_the_read_file_goes_when_nobody_holds_it(seeded: Engine) -> None:
    read = staged(seeded, ROWS)
    path = read.path
    assert path.exists()
    del read
    assert not path.exists()


@one_database
def test_a_real_corpus_goes_out_and_comes_back(
    starter_engine: Engine, settings: Settings, tmp_path: Path, second: Engine
) -> None:
    with writing(starter_engine) as session:
        release = create_release(session).release
        place = export_release(session, release, tmp_path / "out", format="hf")
        types = Counter(release.summary["types"])
    done = load(second, settings, place)
    assert done["types"] == types
    with writing(second) as session:
        again = create_release(session).release
    assert again.content_hash == release.content_hash
    assert again.summary["decided_by"] == release.summary["decided_by"]
