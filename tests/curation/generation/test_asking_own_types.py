"""A user-defined negation and hedge, from the prompt to the triples and their export."""

import csv
import json
from pathlib import Path

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.diagnostics import acceptance, cue_use, distributions
from curation.diagnostics.acceptance import Dimension
from curation.diagnostics.cosines import save_cosines
from curation.diagnostics.distributions import EVERYTHING, flags_by_type
from curation.diagnostics.measures import Flag
from curation.diagnostics.measuring import measure_variants
from curation.encoders.registered import register_encoder
from curation.generation.costs.estimate import count_wanted
from curation.generation.request import AnchorSelection, Which
from curation.project.funnel import funnel
from curation.project.opening import ACTIVE_ENCODER, get_setting
from curation.release.export.release_folder import export_release
from curation.release.freezing import create_release
from curation.release.triples import triple_rows
from curation.review import actions
from curation.review.queue import next_variant
from curation.taxonomy.cues import cue_list, listed_cues
from curation.taxonomy.own_types import add_type, retire_type
from curation.taxonomy.project_types import list_types
from db.engine import reading, writing
from db.models import Anchor, Release, Split, Status, Variant
from tests.curation.generation.conftest import Serve
from tests.curation.generation.test_run import carry_out
from tests.curation.support.own_types import HEDGE, NEGATION
from tests.support.factories import person
from training.recipe.plan import plan

OWN = ("quantifier_negation", "hedge_hearsay")


@pytest.fixture(autouse=True)
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measuring with an encoder is tested elsewhere, because it loads one."""
    monkeypatch.setattr("curation.diagnostics.measuring.work", lambda context: {})


@pytest.fixture
def generated(anchors: Engine, home: Path, serve_chat: Serve) -> Engine:
    """Two user-defined types, and a model's variants of all types for ten anchors."""
    with writing(anchors) as session:
        for wanted in (NEGATION, HEDGE):
            add_type(session, wanted)
    address, server = serve_chat()
    carry_out(anchors, home, base_url=address, selection={"limit": 10})
    prompts = "\n".join(server.asked)
    assert f'"{OWN[0]}": {NEGATION.label}: {NEGATION.definition}' in prompts
    assert "with a cue such as they whisper" in prompts
    return anchors


def variants(session: Session, type_id: str) -> list[Variant]:
    query = select(Variant).where(col(Variant.type_id) == type_id).order_by(col(Variant.id))
    return list(session.execute(query).scalars())


def test_own_types_go_all_the_way(generated: Engine, tmp_path: Path) -> None:
    with writing(generated) as session:
        _measured(session)
        _reviewed(session)
        release = create_release(session).release
    with reading(generated) as session:
        _measures_are_reported(session)
        _is_released(session, release)
        _is_exported(session, release, tmp_path)
        _is_counted(session, release)


def _measured(session: Session) -> None:
    ids = session.execute(select(col(Variant.id))).scalars().all()
    assert len(ids) == 10 * 8
    measure_variants(session, ids)
    name = get_setting(session, ACTIVE_ENCODER)
    encoder = register_encoder(session, name=name, hash_="f" * 64)
    save_cosines(session, dict.fromkeys(ids, 0.9), encoder_id=encoder.id)


def _reviewed(session: Session) -> None:
    """For each user-defined type, all but two variants are accepted. One verbal variant is retyped,
    and one is edited."""
    me = person(session)
    for type_id in OWN:
        for _ in range(8):
            found = next_variant(session, type_ids=[type_id])
            assert found is not None
            actions.accept(session, actions.shown(found), reviewer_id=me)
        rest = variants(session, type_id)[-2:]
        actions.reject(session, actions.shown(rest[0]), reviewer_id=me, reason="meaning_changed")
        text = f"{rest[1].text.removesuffix('.')} here."
        actions.edit(session, actions.shown(rest[1]), reviewer_id=me, text=text)
    verbal, word = variants(session, "verbal")[0], variants(session, "word")[0]
    actions.edit(session, actions.shown(verbal), reviewer_id=me, type_id=OWN[0])
    word.text = "They whisper that it is safe."
    session.flush()
    child = actions.edit(
        session, actions.shown(word), reviewer_id=me, type_id=OWN[1], text=word.text
    ).child_id
    assert session.get_one(Variant, child).cue == "they whisper"  # found in the text


def _measures_are_reported(session: Session) -> None:
    rows = distributions.flag_counts(session)
    flags = {
        (row.type_id, row.flag): (row.number, row.of)
        for row in flags_by_type(rows, EVERYTHING, type_ids=[*OWN, "verbal"])
    }
    wrong = [flags[type_id, Flag.WRONG_SURFACE] for type_id in OWN]
    assert wrong == [(0, 11), (0, 11)]
    entry = next(entry for entry in list_types(session) if entry.id == OWN[1])
    assert cue_list(entry) == listed_cues(entry) == HEDGE.surface_check.require_words
    cues = cue_use.cues_of(cue_use.cue_counts(session), EVERYTHING, entry.id)
    used = cue_use.list_use(cues, listed_cues(entry))
    assert used is not None and len(used.used) == 2 and not used.others
    found = acceptance.outcomes(session, Dimension.TYPE)
    outcome = found[(OWN[0],)]
    assert (outcome.accepted, outcome.edited, outcome.rejected) == (8, 1, 1)


def _is_released(session: Session, release: Release) -> None:
    assert {key: release.summary["types"][key] for key in OWN} == dict.fromkeys(OWN, 10)
    assert release.taxonomy[OWN[0]]["origin"] == release.taxonomy[OWN[1]]["origin"] == "own"
    assert "origin" not in release.taxonomy["verbal"]
    rows = list(triple_rows(session, release.id))
    assert {(row.positive_type, row.negative_type) for row in rows} == {(OWN[1], OWN[0])}
    assert {row.positive_cue for row in rows} == set(HEDGE.surface_check.require_words)
    assert len(rows) == release.summary["triples"] > 0


def _is_exported(session: Session, release: Release, folder: Path) -> None:
    export_release(session, release, folder / "jsonl", format="jsonl")
    lines = (folder / "jsonl" / "variants.jsonl").read_text("utf-8").splitlines()
    sides = {(row["type"], row["polarity"]) for row in map(json.loads, lines)}
    assert sides == {(OWN[0], "negative"), (OWN[1], "positive")}
    text = (folder / "jsonl" / "README.md").read_text("utf-8")
    assert NEGATION.definition in text and "Hedge: hearsay" in text
    assert f"Added by this project, not from the paper: `{OWN[0]}`, `{OWN[1]}`." in text
    export_release(session, release, folder / "pairs", format="pairs")
    with (folder / "pairs" / "pairs.csv").open(encoding="utf-8-sig", newline="") as file:
        labels = {(row["type"], row["label"]) for row in csv.DictReader(file)}
    assert labels == {(OWN[0], "0"), (OWN[1], "1")}


def _is_counted(session: Session, release: Release) -> None:
    rows = {row.type_id: row for row in funnel(session).rows}
    assert list(rows)[-2:] == list(OWN)
    own = rows[OWN[0]]
    assert (own.label, own.role) == (NEGATION.label, "negation")
    assert (own.anchors, own.variants, own.accepted, own.rejected) == (10, 11, 10, 1)
    assert own.released == 10 and own.triples == release.summary["triples"]
    to_train = release.summary["splits"].get(Split.TRAIN, {"triples": 0})["triples"]
    assert plan(session, release.number).triples == to_train


def test_only_the_types_asked_for_are_generated(
    generated: Engine, home: Path, serve_chat: Serve
) -> None:
    with writing(generated) as session:
        add_type(session, NEGATION.model_copy(update={"label": "Denied quantity"}))
        chosen = AnchorSelection(which=Which.WITHOUT, types=("denied_quantity",))
        wanted = count_wanted(session, chosen, ("negation", "hedge"), seed=0)
        assert wanted.calls.get("negation") == 40 and not wanted.calls.get("hedge")
    address, server = serve_chat()
    _, result = carry_out(
        generated, home, base_url=address, selection={"types": ["denied_quantity"], "limit": 5}
    )
    assert result["done"] == 5
    assert all('"denied_quantity"' in prompt and "verbal" not in prompt for prompt in server.asked)
    with reading(generated) as session:
        assert len(variants(session, "denied_quantity")) == 5


def test_rules_pass_over_a_type_that_they_have_no_rule_for(generated: Engine, home: Path) -> None:
    with writing(generated) as session:
        uids = session.execute(select(col(Anchor.uid))).scalars().all()
        before = len(variants(session, OWN[0]))
    carry_out(
        generated,
        home,
        provider="rules",
        model="",
        selection={"which": "slots", "anchors": list(uids)},
    )
    with reading(generated) as session:
        assert len(variants(session, OWN[0])) == before
        assert len(variants(session, "verbal")) > 10


def test_a_type_retired_between_planning_and_asking_is_not_asked_for(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    with writing(anchors) as session:
        add_type(session, NEGATION)
        retire_type(session, OWN[0])
    address, server = serve_chat()
    carry_out(anchors, home, base_url=address, selection={"limit": 3}, roles=["negation"])
    assert server.asked and all(OWN[0] not in prompt for prompt in server.asked)
    with reading(anchors) as session:
        assert not variants(session, OWN[0])
        assert {v.status for v in variants(session, "verbal")} == {Status.PENDING}
