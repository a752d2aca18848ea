"""Importing a file of variants: what is stored, once and completely."""

from typing import Any

import pytest
from sqlalchemy import Engine

from curation.anchors.changes import correct_anchor, retire_anchor
from curation.anchors.importing.insert import About
from curation.review.people.reviewers import LABELS
from curation.review.undo import undo
from curation.variants.importing import import_run
from curation.variants.importing.entries import LeftOut
from curation.variants.importing.import_run import KIND, create_import, work
from curation.variants.importing.in_words import LeftOutCount, against, left_out, nothing_left
from curation.variants.importing.preview import preview
from db.engine import reading, writing
from db.errors import HedgerowError, RunEnded
from db.execution import execute
from db.models import (
    Anchor,
    Decision,
    Source,
    Split,
    Status,
    Variant,
    Verdict,
)
from db.runs import requeue
from db.settings import Settings
from tests.curation.support.families import add_family
from tests.curation.variants.importing.support.imports import (
    ROWS,
    all_of,
    choices,
    counts,
    load,
    staged,
    statuses,
)
from tests.support.databases import both_databases
from tests.support.factories import add_anchor, person

pytestmark = both_databases


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
        previewed = preview(session, staged(seeded, ROWS), choices())
    assert previewed.places == {
        "there": "line 3 of mine.jsonl",
        "verdict_there": "line 1 of mine.jsonl",
    }
    assert [(one.reason, one.verdicts) for one in previewed.examples] == [(LeftOut.THERE, ())] * 3
    assert (
        nothing_left(previewed) == "Nothing is left to import: the project has all of it already."
    )


def test_one_undo_reverses_all_verdicts_of_a_reviewer(
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
    assert again["decisions"] == 2  # undone ones can be imported again


def test_annotators_who_disagree_are_in_conflict(seeded: Engine, settings: Settings) -> None:
    load(seeded, settings, [ROWS[0], ROWS[0] | {"verdict": "reject", "reviewer": "Bo"}])
    assert statuses(seeded) == {"The bridge is not safe.": Status.CONFLICT}


def test_verdicts_reach_variants_that_are_here_already(seeded: Engine, settings: Settings) -> None:
    with writing(seeded) as session:
        add_family(session, "The bridge is safe.", {"verbal": ["The bridge is not safe."]})
    done = load(seeded, settings, ROWS[:2])
    assert (done["anchors"], done["variants"], done["decisions"]) == (0, 0, 1)
    assert done["left_out"] == {"other_source": 1}  # the new text would get that source's licence
    assert statuses(seeded) == {"The bridge is not safe.": Status.ACCEPTED}


def test_the_preview_says_what_differs_from_the_project(seeded: Engine, settings: Settings) -> None:
    bridge = "The bridge is safe."
    load(seeded, settings, [ROWS[0], ROWS[0] | {"text": "No bridge is safe.", "type": "absolute"}])
    rejecting = ROWS[0] | {"verdict": "reject", "reviewer": "Bo"}
    rows = [ROWS[2], rejecting, ROWS[1], rejecting | {"text": "The bridge is unsafe."}]
    about = About("yours")
    with reading(seeded) as session:
        previewed = preview(session, staged(seeded, rows), choices(about=about))
    assert previewed.against == {(Verdict.REJECT, Status.ACCEPTED): 1}
    assert "1 rejects a variant that is accepted here." in against(previewed)
    assert previewed.elsewhere["mine"].variants == 2
    other = f"variants of anchors that belong to the source 'mine', such as “{bridge}”"
    add = "(use that source for the file to add them)"
    assert left_out(previewed) == [LeftOutCount(2, f"{other} {add}", "line 3 of mine.jsonl")]
    assert {one.variant.text: (one.reason, one.verdicts) for one in previewed.examples} == {
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


def test_attributes_of_an_anchor_in_a_file_are_kept(seeded: Engine, settings: Settings) -> None:
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


def test_a_run_that_breaks_off_has_stored_whole_anchors_and_continues(
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
