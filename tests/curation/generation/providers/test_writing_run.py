"""The output of providers from other packages, and how it is handled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine, select
from sqlmodel import col

from curation.generation.costs.estimate import estimate
from curation.generation.providers import writing_run
from curation.generation.providers.installed import provider, provider_class, provider_names
from curation.generation.providers.interface import WritingTask
from curation.generation.providers.writing_run import answer_of
from curation.generation.run import checked_request
from curation.taxonomy.built_in import TAXONOMY, known_type
from db.engine import reading
from db.errors import HedgerowError
from db.models import Answer, Run, RunState, Variant
from tests.curation.generation import test_run
from tests.support.plug_in_packages import install

unmeasured = test_run.unmeasured

CODE = """
from hedgerow.plug_ins import PassedOver, Provider, Written


class Mine(Provider):
    def write(self, task):
        BODY
"""

Plug = Callable[..., None]


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Plug:
    """Installs a provider 'mine' whose method has this body."""

    def made(body: str, **entries: str) -> None:
        code = CODE.replace("BODY", body.replace("\n", "\n        "))
        install(
            monkeypatch,
            tmp_path / "mine",
            "hedgerow.providers",
            code,
            **(entries or {"mine": "Mine"}),
        )

    return made


def answer(text: str = "It is safe.", cue: str = "") -> writing_run.Answer:
    types = tuple(known_type(TAXONOMY, name) for name in ("verbal", "word"))
    cues = {"word": cue} if cue else {}
    return answer_of(provider("mine"), WritingTask(text, "en", types, cues, 1))


def test_a_variant_of_each_wanted_type_is_taken_and_nothing_else(plug: Plug) -> None:
    plug(
        "yield 'verbal', '  It is\\u00a0not  safe. '\n"
        "yield Written('verbal', 'It is unsafe.')\n"
        "yield Written('affixal', 'It is unsafe.')\n"
        "yield Written('word', 'It is probably safe.', 'probably')"
    )
    assert answer() == (
        {"verbal": "It is not safe.", "word": "It is probably safe."},
        {"word": "probably"},
        {},
    )


def test_rows_that_are_not_variants_are_skipped_with_a_reason(plug: Plug) -> None:
    plug("yield Written('verbal', task.text.upper())\nyield Written('word', 'a' * 3000)")
    assert answer().passed_over == {"verbal": "repeats the anchor", "word": "no sentence"}


def test_a_reason_is_recorded_and_a_type_without_one_too(
    plug: Plug, anchors: Engine, home: Path
) -> None:
    plug("yield PassedOver('verbal', 'too hard')\nyield Written('absolute', 'None of it is safe.')")
    _, result = test_run.carry_out(
        anchors, home, provider="mine", model="", roles=("negation",), selection={"limit": 2}
    )
    assert (result["done"], result["complete"]) == (2, True)
    with reading(anchors) as session:
        errors = set(session.execute(select(col(Answer.error))).scalars())
        variants = list(session.execute(select(Variant)).scalars())
    assert len(variants) == 2 and {v.model for v in variants} == {"mine 1.0"}
    assert errors == {"passed over: verbal: too hard; affixal: no text; lexical: no text"}


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("yield 1 / 0", "The plug-in 'mine' failed (ZeroDivisionError: division by zero)"),
        ("return None", "Expected variants from the provider 'mine', found NoneType"),
        (
            "return 'verbal'",
            "Expected a type, a text and optionally a cue from the provider 'mine'",
        ),
        (
            "yield 'verbal', 5",
            "Expected a type, a text and optionally a cue from the provider 'mine'",
        ),
        ("raise SystemExit(3)", "The plug-in 'mine' failed (SystemExit: 3)"),
    ],
)
def test_a_faulty_one_ends_its_run_with_one_sentence(
    plug: Plug, anchors: Engine, home: Path, body: str, sentence: str
) -> None:
    plug(body)
    with pytest.raises(HedgerowError) as refusal:
        test_run.carry_out(anchors, home, provider="mine", model="", selection={"limit": 1})
    assert sentence in str(refusal.value) and "\n" not in str(refusal.value)
    with reading(anchors) as session:
        run = session.execute(select(Run)).scalar_one()
    assert run.state is RunState.FAILED and sentence in run.message


def test_names_of_writers_and_prompts_are_never_taken(plug: Plug) -> None:
    plug("return ()", **dict.fromkeys(("openai", "rules", "person", "starter", "negation"), "Mine"))
    assert provider_names() == ("openai", "rules")
    with pytest.raises(HedgerowError, match="found 'person'"):
        provider_class("person")


def test_a_plug_ins_cost_is_unknown_unless_it_declares_itself_free(
    plug: Plug, anchors: Engine
) -> None:
    plug("return ()")
    with reading(anchors) as session:
        estimated = estimate(session, checked_request({"provider": "mine"}))
        assert (estimated.total_calls, estimated.cost) == (80, None)
        assert estimate(session, checked_request({"provider": "rules"})).cost == 0.0


def test_slow_answers_are_stored_before_many_have_arrived(
    plug: Plug, anchors: Engine, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing_run, "SECONDS", -1)
    plug(
        "import pathlib\n"
        "place = pathlib.Path(__file__).with_name('count')\n"
        "count = len(place.read_text()) if place.exists() else 0\n"
        "place.write_text('x' * (count + 1))\n"
        "if count == 3: raise OSError('server is gone')\n"
        "yield 'verbal', 'No ' + task.text"
    )
    with pytest.raises(HedgerowError, match="server is gone"):
        test_run.carry_out(anchors, home, provider="mine", model="", roles=("negation",))
    assert len(test_run.table(anchors)) == 3
    with reading(anchors) as session:
        run_id = session.execute(select(col(Run.id))).scalar_one()
    test_run.again(anchors, home, run_id)
    assert len(test_run.table(anchors)) == 40
