"""The project's own probes: kept in order, and refused if they are not a pair."""

import pytest
from sqlalchemy import Engine

from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Encoder, ProbeCosine
from tests.support.databases import both_databases
from tests.training.support.trainings import count
from training.evaluation.probes import MAX_OWN, add_own_probe, own_probes, remove_own_probe


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


@pytest.mark.parametrize(
    ("anchor", "text", "sentence"),
    [
        ("", "b", "first sentence of the pair is empty"),
        ("a", " \u200b ", "second sentence of the pair is empty"),
        ("a", "b" * 3000, "at most 2000 characters"),
        ("a", "b\x07", "control character"),
        ("It rains.", " It  pours.", "already in your list"),
    ],
)
def test_a_probe_that_is_not_a_pair_is_refused(
    engine: Engine, anchor: str, text: str, sentence: str
) -> None:
    with writing(engine) as session:
        add_own_probe(session, anchor="It rains.", text="It pours.")
        with pytest.raises(HedgerowError, match=sentence):
            add_own_probe(session, anchor=anchor, text=text)


def test_there_is_room_for_so_many_probes_as_a_chart_can_show(engine: Engine) -> None:
    with writing(engine) as session:
        for number in range(MAX_OWN):
            add_own_probe(session, anchor="It rains.", text=f"It rains {number} times.")
        with pytest.raises(HedgerowError, match="remove one first"):
            add_own_probe(session, anchor="It rains.", text="It pours.")
