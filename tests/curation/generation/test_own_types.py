"""A user-defined negation and hedge, from the prompt to the triples and their export."""

import csv
import json
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.generation.costs.estimate import count_wanted
from curation.generation.request import AnchorSelection, Which
from curation.project.funnel import funnel
from curation.release.export.release_folder import export_release
from curation.release.freezing import create_release
from curation.release.triples import triple_rows
from curation.review import actions
from curation.review.queue import next_variant
from curation.taxonomy.own_types import add_type
from db.engine import reading, writing
from db.models import Release, Split, Variant
from tests.curation.generation.conftest import ANCHORS, Runs
from tests.curation.support.own_types import HEDGE, NEGATION
from tests.support.factories import person
from training.recipe.plan import plan

OWN = ("quantifier_negation", "hedge_hearsay")


@pytest.fixture
def generated(runs: Runs) -> Runs:
    """Two user-defined types, and a model's variants of all types for ten anchors."""
    with writing(runs.engine) as session:
        for wanted in (NEGATION, HEDGE):
            add_type(session, wanted)
    runs.carry_out(selection={"limit": 10})
    prompts = "\n".join(runs.server.asked)
    assert f'"{OWN[0]}": {NEGATION.label}: {NEGATION.definition}' in prompts
    assert "they whisper" in prompts
    return runs


def of_type(session: Session, type_id: str) -> list[Variant]:
    query = select(Variant).where(col(Variant.type_id) == type_id).order_by(col(Variant.id))
    return list(session.execute(query).scalars())


def test_own_types_go_all_the_way(generated: Runs, tmp_path: Path) -> None:
    with writing(generated.engine) as session:
        review(session)
        release = create_release(session).release
    with reading(generated.engine) as session:
        assert_is_released(session, release)
        assert_is_exported(session, release, tmp_path)
        assert_is_counted(session, release)


def review(session: Session) -> None:
    """For each user-defined type, all but two variants are accepted. One verbal variant is retyped,
    and one is edited."""
    me = person(session)
    for type_id in OWN:
        for _ in range(8):
            found = next_variant(session, type_ids=[type_id])
            assert found is not None
            actions.accept(session, actions.shown(found), reviewer_id=me)
        rest = of_type(session, type_id)[-2:]
        actions.reject(session, actions.shown(rest[0]), reviewer_id=me, reason="meaning_changed")
        text = f"{rest[1].text.removesuffix('.')} here."
        actions.edit(session, actions.shown(rest[1]), reviewer_id=me, text=text)
    verbal, word = of_type(session, "verbal")[0], of_type(session, "word")[0]
    actions.edit(session, actions.shown(verbal), reviewer_id=me, type_id=OWN[0])
    word.text = "They whisper that it is safe."
    session.flush()
    new = {"type_id": OWN[1], "text": word.text}
    child = actions.edit(session, actions.shown(word), reviewer_id=me, **new).child_id
    assert session.get_one(Variant, child).cue == "they whisper"  # found in the text


def assert_is_released(session: Session, release: Release) -> None:
    assert {key: release.summary["types"][key] for key in OWN} == dict.fromkeys(OWN, 10)
    origins = [release.taxonomy[type_id].get("origin") for type_id in (*OWN, "verbal")]
    assert origins == ["own", "own", None]
    rows = list(triple_rows(session, release.id))
    assert {(row.positive_type, row.negative_type) for row in rows} == {(OWN[1], OWN[0])}
    assert {row.positive_cue for row in rows} == set(HEDGE.surface_check.require_words)
    assert len(rows) == release.summary["triples"] > 0


def assert_is_exported(session: Session, release: Release, folder: Path) -> None:
    export_release(session, release, folder / "jsonl", format="jsonl")
    lines = (folder / "jsonl" / "variants.jsonl").read_text("utf-8").splitlines()
    sides = {(row["type"], row["polarity"]) for row in map(json.loads, lines)}
    assert sides == {(OWN[0], "negative"), (OWN[1], "positive")}
    text = (folder / "jsonl" / "README.md").read_text("utf-8")
    assert all(
        fact in text for fact in (NEGATION.definition, HEDGE.label, f"`{OWN[0]}`, `{OWN[1]}`")
    )
    export_release(session, release, folder / "pairs", format="pairs")
    with (folder / "pairs" / "pairs.csv").open(encoding="utf-8-sig", newline="") as file:
        labels = {(row["type"], row["label"]) for row in csv.DictReader(file)}
    assert labels == {(OWN[0], "0"), (OWN[1], "1")}


def assert_is_counted(session: Session, release: Release) -> None:
    *_, own, hedge = funnel(session).rows
    assert (own.type_id, hedge.type_id, own.label) == (*OWN, NEGATION.label)
    assert own.role == "negation"
    assert (own.anchors, own.variants, own.accepted, own.rejected) == (10, 11, 10, 1)
    assert own.released == 10 and own.triples == release.summary["triples"]
    to_train = release.summary["splits"].get(Split.TRAIN, {"triples": 0})["triples"]
    assert plan(session, release.number).triples == to_train


def test_only_the_types_asked_for_are_generated(generated: Runs) -> None:
    with writing(generated.engine) as session:
        own = add_type(session, NEGATION.model_copy(update={"label": "Denied quantity"})).id
        chosen = AnchorSelection(which=Which.WITHOUT, types=(own,))
        wanted = count_wanted(session, chosen, ("negation", "hedge"), seed=0)
    assert wanted.calls.get("negation") == ANCHORS and not wanted.calls.get("hedge")
    generated.server.asked.clear()
    assert generated.carry_out(selection={"types": [own], "limit": 5})["done"] == 5
    assert all(f'"{own}"' in asked and "verbal" not in asked for asked in generated.server.asked)
    assert generated.all(Variant.type_id).count(own) == 5
