"""Named probe sets: created, extended, renamed, deleted; the bundled ones never change."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, func, select, update
from sqlmodel import col

from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Encoder, ProbeCosine
from db.models import Probe as ProbeRecord
from tests.support.databases import both_databases
from tests.training.support.trainings import count
from training.evaluation.probe_files import Pasted
from training.evaluation.probe_groups import bundled_probes
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
from training.evaluation.similarity import ProbePair

PAIRS = Pasted(
    [ProbePair("It rains.", "It pours.", ""), ProbePair("It rains.", "It is dry.", "dry")], []
)
SENTENCES = Pasted([], ["It rains.", "It pours.", "It is dry."])


def make(engine: Engine, content: Pasted = PAIRS, name: str = "Weather") -> str:
    with writing(engine) as session:
        return create_set(session, name=name, content=content, author_id=None)


def test_a_set_is_made_opened_and_listed_after_the_bundled_ones(engine: Engine) -> None:
    assert make(engine, name="  Weather \n now ") == "Weather now"
    make(engine, SENTENCES, "alphabet")
    with reading(engine) as session:
        assert list_sets(session) == [GROUPS_SET, FIGURE_1_SET, "alphabet", "Weather now"]
        pairs, sentences = open_set(session, "Weather now"), open_set(session, "alphabet")
    assert (pairs.kind, pairs.bundled) == (SetKind.PAIRS, False)
    assert [stored.probe for stored in pairs.probes] == PAIRS.probes
    assert sentences.kind == SetKind.SENTENCES
    assert sentences.sentences == SENTENCES.sentences


@both_databases
def test_bundled_sets_can_be_opened_before_they_are_stored_and_are_stored_once(
    engine: Engine,
) -> None:
    with reading(engine) as session:
        fresh = open_set(session, GROUPS_SET)
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
    with reading(engine) as session:
        assert len(open_set(session, "Weather").probes) == 2


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
    with reading(engine) as session:
        assert list_sets(session) == [GROUPS_SET, FIGURE_1_SET]


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
        assert texts == ["It does not rain.", "It pours."]
        assert count(session, ProbeCosine) == 0


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
