"""Runs by rule or by a plug-in, stored like any other; and user-defined types, from the prompt to
the export."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.editing.own_types import add_type
from curation.generation.budget import cost_rows
from curation.generation.calls import cue_use
from curation.generation.estimate import count_wanted, estimate
from curation.generation.providers import provider_run
from curation.generation.providers import rules as by_rule
from curation.generation.providers.installed import provider, provider_class, provider_names
from curation.generation.providers.interface import WritingTask
from curation.generation.providers.provider_run import Forecast, answer_of, forecast
from curation.generation.providers.rules import RULES_VERSION
from curation.generation.providers.rules.hedges import cue_of, frames_of
from curation.generation.request import AnchorSelection, Which
from curation.generation.run import checked_request
from curation.overview.funnel import funnel
from curation.release.export.release_folder import export_release
from curation.release.triples import triple_rows
from curation.review import deciding
from curation.review.queue import next_variant
from curation.taxonomy.built_in import TAXONOMY, known_type
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import Answer, CallState, PromptVersion, Release, Run, RunState, Split, Variant
from tests.curation.generation.conftest import ANCHORS, CALLS, VARIANTS, Runs
from tests.curation.support.own_types import HEDGE, NEGATION
from tests.support.factories import add_anchor, freeze, person
from tests.support.plug_in_packages import Plug, installer
from training.recipe.training_data import plan

RULES = {"provider": "rules", "model": ""}
MINE = {"provider": "mine", "model": ""}
NEGATIONS = ("verbal", "absolute", "affixal", "lexical")


def add(runs: Runs, text: str) -> None:
    with writing(runs.engine) as session:
        add_anchor(session, text)


def expected(runs: Runs, **how: Any) -> Forecast:
    return runs.read(forecast, checked_request(RULES | how))


@pytest.mark.slow
def test_a_run_by_rule_stores_answers_and_variants(
    local_runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[tuple[int, int]] = []
    listener = staticmethod(lambda step, total, message: reports.append((step, total)))
    monkeypatch.setattr(RunContext, "listener", listener)
    add(local_runs, "Is the bridge safe?")
    result = local_runs.carry_out(**RULES)
    total = CALLS + 2
    assert (result["done"], result["failed"], result["calls"]) == (CALLS, 2, total)
    assert result["cost"] == 0.0 and (reports[0], reports[-1]) == ((0, total), (total, total))
    texts = {text for _, text, _, _ in local_runs.variants()}
    assert {"The bridge number 7 is unsafe.", "The bridge number 7 is not safe."} <= texts
    (prompt,) = local_runs.all(select(PromptVersion).where(PromptVersion.name == "rules"))
    assert prompt.version == RULES_VERSION
    rows = local_runs.all(select(Variant))
    origins = {(row.prompt_version_id, row.provider, row.run_id, row.model) for row in rows}
    assert origins == {(prompt.id, "rules", 1, "")}
    answers = {row.id: row for row in local_runs.all(select(Answer))}
    for row in rows:
        answer = answers[row.answer_id]
        assert row.text in answer.raw and answer.anchor_id == row.anchor_id
        assert row.cue == answer.cues.get(row.type_id)
    assert [bool(row.error) for row in answers.values() if row.raw == "{}"] == [True] * 2
    cues = [row.cue for row in rows if row.type_id == "word"]
    used = local_runs.read(cue_use, 1)["word"]
    assert {row.cost for row in local_runs.read(cost_rows)} == {0.0}
    assert {cue: used[cue] for cue in set(cues)} == {cue: cues.count(cue) for cue in cues}


@pytest.mark.slow
def test_a_run_that_is_interrupted_continues_to_the_result_of_an_uninterrupted_one(
    local_runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_run, "TOGETHER", 8)
    write, made = by_rule.write_by_rule, []

    def write_some(*args: Any, **how: Any) -> Any:
        made.append(args)
        if len(made) == 20:
            raise MemoryError("killed")
        return write(*args, **how)

    monkeypatch.setattr(by_rule, "write_by_rule", write_some)
    assert "killed" in local_runs.refused(**RULES)
    assert local_runs.state() is RunState.FAILED
    assert local_runs.calls().count(CallState.DONE) == 16
    local_runs.again()
    assert len(made) == 20 + CALLS - 16 and local_runs.calls() == [CallState.DONE] * CALLS
    attempts = local_runs.all(Answer.call_id)
    assert len(attempts) == len(set(attempts)) == CALLS
    uids = [uid for uid, *_ in local_runs.variants()]
    assert len(uids) == len(set(uids)) == VARIANTS


@pytest.mark.slow
def test_a_second_run_adds_nothing(local_runs: Runs) -> None:
    add(local_runs, "The key turns in the lock.")
    local_runs.carry_out(**RULES)
    first = local_runs.variants()
    assert "nothing to generate" in local_runs.refused(**RULES, selection={"which": "without"})
    assert local_runs.carry_out(**RULES, selection={"which": "slots"})["done"] == 0
    assert local_runs.variants() == first


def test_a_type_without_rules_is_refused_or_skipped_and_named(local_runs: Runs) -> None:
    with writing(local_runs.engine) as session:
        own = add_type(session, NEGATION).id
    message = local_runs.refused(**RULES, selection={"types": (own,)})
    assert "'rules'" in message and own in message
    found = expected(local_runs, roles=("negation",))
    assert found.variants == dict.fromkeys(NEGATIONS, ANCHORS) | {own: 0}
    assert found.exact and found.not_written == (own,) and own in found.sentences()[1]
    local_runs.carry_out(**RULES, roles=("negation",))
    (error,) = set(local_runs.all(Answer.error))
    assert own in error and not any(type_id in error for type_id in NEGATIONS)


def test_a_forecast_of_many_anchors_is_scaled_from_some(
    local_runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_run, "INSPECTED", 10)
    found = expected(local_runs, roles=("hedge",))
    assert (found.variants, found.exact) == ({"word": ANCHORS, "phrase": ANCHORS}, False)
    assert str(2 * ANCHORS) in found.sentences()[0] and len(found.sentences()) == 1


def test_variants_say_whether_wordnet_was_read(local_runs: Runs, small_wordnet: Path) -> None:
    local_runs.carry_out(**RULES, selection={"limit": 1})
    assert set(local_runs.all(Variant.model)) == {"with WordNet"}


def test_a_model_can_write_what_the_rules_skipped(runs: Runs) -> None:
    add(runs, "The key turns in the lock.")
    runs.carry_out(**RULES, roles=("negation",))
    failed = {"which": "failed", "run": 1}
    assert runs.carry_out(selection=failed, roles=("negation",))["failed"] == 0
    slots = [tuple(row) for row in runs.rows(select(Variant.anchor_id, Variant.type_id))]
    assert len(slots) == len(set(slots)) == (ANCHORS + 1) * 4
    assert set(runs.all(Variant.provider)) == {"rules", "openai"}


def test_frames_are_written_for_types_that_are_named_and_stored_as_their_cues(
    local_runs: Runs,
) -> None:
    types = ("affirmation", "free_hedge", "unsupported")
    how = {"roles": ("paraphrase", "hedge", "unsupported"), "selection": {"types": types}}
    found = expected(local_runs, **how)
    assert found.variants == dict.fromkeys(types, ANCHORS) and found.not_written == ()
    local_runs.carry_out(**RULES, **how)
    rows = local_runs.all(select(Variant))
    assert len(rows) == 3 * ANCHORS and {row.provider for row in rows} == {"rules"}
    cues = {type_id: {cue_of(frame) for frame in frames_of(type_id)} for type_id in types}
    assert all(row.cue in cues[row.type_id] for row in rows)
    for type_id, counts in local_runs.read(cue_use, 1).items():
        assert sum(counts.values()) == ANCHORS and len(counts) > 10, type_id


# -- providers of other packages ------------------------------------------------------------------

CODE = """
from hedgerow.plug_ins import PassedOver, Provider, Written


class Mine(Provider):
    def write(self, task):
        BODY
"""


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Plug:
    """Installs a provider 'mine' whose method has this body."""
    return installer(monkeypatch, tmp_path, "hedgerow.providers", CODE)


def answer() -> provider_run.Answer:
    types = tuple(known_type(TAXONOMY, name) for name in ("verbal", "word"))
    return answer_of(provider("mine"), WritingTask("It is safe.", "en", types, {}, 1))


def test_a_variant_of_each_wanted_type_is_taken_and_nothing_else(plug: Plug) -> None:
    plug(
        "yield 'verbal', '  It is\\u00a0not  safe. '\n"
        "yield Written('verbal', 'It is unsafe.')\n"
        "yield Written('affixal', 'It is unsafe.')\n"
        "yield Written('word', 'It is probably safe.', 'probably')"
    )
    texts = {"verbal": "It is not safe.", "word": "It is probably safe."}
    assert answer() == (texts, {"word": "probably"}, {})


def test_rows_that_are_not_variants_are_skipped_with_a_reason(plug: Plug) -> None:
    plug("yield Written('verbal', task.text.upper())\nyield Written('word', 'a' * 3000)")
    assert answer().texts == {} and answer().passed_over.keys() == {"verbal", "word"}


def test_a_reason_is_recorded_and_a_type_without_one_too(plug: Plug, local_runs: Runs) -> None:
    plug("yield PassedOver('verbal', 'too hard')\nyield Written('absolute', 'None of it is safe.')")
    result = local_runs.carry_out(**MINE, roles=("negation",), selection={"limit": 2})
    assert (result["done"], result["complete"]) == (2, True)
    assert local_runs.all(Variant.model) == ["mine 1.0"] * 2
    (error,) = set(local_runs.all(Answer.error))
    assert "verbal: too hard; affixal: " in error and "absolute" not in error


@pytest.mark.parametrize(
    ("body", "fact"),
    [
        ("yield 1 / 0", "(ZeroDivisionError: division by zero)"),
        ("return None", "NoneType"),
        ("return 'verbal'", "str 'v'"),
        ("yield 'verbal', 5", "tuple"),
        ("raise SystemExit(3)", "(SystemExit: 3)"),
    ],
)
def test_a_faulty_one_ends_its_run_with_one_sentence(
    plug: Plug, local_runs: Runs, body: str, fact: str
) -> None:
    plug(body)
    message = local_runs.refused(**MINE, selection={"limit": 1})
    assert fact in message and "'mine'" in message and "\n" not in message
    (run,) = local_runs.all(select(Run))
    assert run.state is RunState.FAILED and fact in run.message


def test_names_of_writers_and_prompts_are_never_taken(plug: Plug) -> None:
    plug("return ()", **dict.fromkeys(("openai", "rules", "person", "starter", "negation"), "Mine"))
    assert provider_names() == ("openai", "rules")
    with pytest.raises(HedgerowError, match="'person'"):
        provider_class("person")


def test_a_plug_ins_cost_is_unknown_unless_it_declares_itself_free(
    plug: Plug, local_runs: Runs
) -> None:
    plug("return ()")
    mine, rules = (
        local_runs.read(estimate, checked_request({"provider": name})) for name in ("mine", "rules")
    )
    assert (mine.total_calls, mine.cost, rules.cost) == (CALLS, None, 0.0)


@pytest.mark.slow
def test_slow_answers_are_stored_before_many_have_arrived(
    plug: Plug, local_runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_run, "SECONDS", -1)
    plug(
        "import pathlib\n"
        "place = pathlib.Path(__file__).with_name('count')\n"
        "count = len(place.read_text()) if place.exists() else 0\n"
        "place.write_text('x' * (count + 1))\n"
        "if count == 3: raise OSError('server is gone')\n"
        "yield 'verbal', 'No ' + task.text"
    )
    assert "server is gone" in local_runs.refused(**MINE, roles=("negation",))
    assert len(local_runs.variants()) == 3
    local_runs.again()
    assert len(local_runs.variants()) == ANCHORS


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
        release = freeze(session).release
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
            deciding.accept(session, deciding.shown(found), reviewer_id=me)
        rest = of_type(session, type_id)[-2:]
        deciding.reject(session, deciding.shown(rest[0]), reviewer_id=me, reason="meaning_changed")
        text = f"{rest[1].text.removesuffix('.')} here."
        deciding.edit(session, deciding.shown(rest[1]), reviewer_id=me, text=text)
    verbal, word = of_type(session, "verbal")[0], of_type(session, "word")[0]
    deciding.edit(session, deciding.shown(verbal), reviewer_id=me, type_id=OWN[0])
    word.text = "They whisper that it is safe."
    session.flush()
    new = {"type_id": OWN[1], "text": word.text}
    child = deciding.edit(session, deciding.shown(word), reviewer_id=me, **new).child_id
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
