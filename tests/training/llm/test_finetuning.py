"""A small language model learns a release's question pairs, alone and in the arms of a study."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from sqlalchemy import Engine
from sqlmodel import Session

from curation.editing.own_types import CONTRADICTION, ENTAILMENT, ensure_types
from curation.release.question_pairs import QuestionPair
from curation.taxonomy.project_types import seed_taxonomy
from db import execution
from db.engine import reading, writing
from db.errors import HedgerowError, RunEnded
from db.models import Run, RunState, Split
from db.runs import get_run, request_cancel, requeue
from db.settings import Settings
from tests.curation.support.families import add_family, add_plain_family
from tests.support.checkpoints import checkpoint
from tests.support.databases import Fill, stored_run
from tests.support.factories import freeze
from tests.support.small_llama import save_small_llama, small_tokenizer
from tests.training.support.trainings import perform
from training.llm.base import check_base, clean_base, has_chat_template, load_base
from training.llm.card import course_of, evaluations_of
from training.llm.examples import Asker
from training.llm.recipe import LanguageRecipe
from training.llm.request import (
    FINETUNE_LANGUAGE_MODEL,
    FinetuneLanguageModel,
    LanguageTraining,
    forecast,
    questions_of,
    request_of,
)
from training.runs.kinds import WORK, kind_of
from training.runs.removal import delete_run
from training.studies.language_study import COMPARE_ARMS, arm_rows
from training.studies.members import study_of, trials

TRAINED, HELD_OUT = 12, 4
"""Anchors of the release, each with four question pairs."""


@pytest.fixture
def released(engine: Engine, fill: Fill) -> Engine:
    """A release: 12 anchors for training, 4 for evaluation, and four question pairs for each
    anchor."""

    def made(session: Session) -> None:
        for number in range(TRAINED + HELD_OUT):
            split = Split.TRAIN if number < TRAINED else Split.VALIDATION
            add_plain_family(session, number, split=split)
        freeze(session, author_id=None)

    fill(engine, made)
    return engine


@pytest.fixture(scope="session")
def without_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a base model, whose tokenizer has no chat template."""
    return save_small_llama(tmp_path_factory.mktemp("base-llama"), chat_template=None)


def recipe(**values: Any) -> LanguageRecipe:
    return LanguageRecipe(**{"gradient_checkpointing": False, "epochs": 1.0, **values})


def ask(
    engine: Engine, base: Path | str, values: Mapping[str, Any] | None = None, **more: Any
) -> Run:
    """Store a finetuning by this recipe."""
    how = recipe(**values or {})
    wanted = FinetuneLanguageModel(base=str(base), recipe=how, **more)
    return perform(engine, FINETUNE_LANGUAGE_MODEL, wanted)


WHOLE = {"modules_to_save": "embed_tokens,lm_head", "learning_rate": 1e-2}
"""Fully trained modules, so that a model with random weights learns. An adapter alone stays at
chance."""


def carry_out(engine: Engine, settings: Settings, run: Run) -> Run:
    execution.execute(engine, settings, run.id, WORK)
    return stored_run(engine, run.id)


def share_answered_right(folder: Path, pairs: list[QuestionPair], *, base: str = "") -> float:
    """The share for a saved model, or for the base with an adapter, loaded as usual."""
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from training.llm.trainer import shares_right

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model: Any = AutoModelForCausalLM.from_pretrained(base or folder)
    if base:
        model = PeftModel.from_pretrained(model, str(folder))
    choices = Asker(tokenizer, chat=tokenizer.chat_template is not None).choices(pairs)
    return shares_right(model.eval(), choices, pad=tokenizer.pad_token_id)["right"]


def test_the_pairs_that_a_model_is_shown_are_answered_right_after_it(
    released: Engine, settings: Settings, small_llama: Path
) -> None:
    asked = ask(released, small_llama, WHOLE | {"epochs": 8}, merge=True)
    run = carry_out(released, settings, asked)
    result = run.result
    where = result["arm"], result["release"], result["merged"]
    assert where == ("both", 1, f"{run.folder}/merged")
    assert result["pairs"] == {"train": 4 * TRAINED, "validation": 4 * HELD_OUT, "too_long": 0}
    assert result["steps"] == 8 * (4 * TRAINED // 8)

    with reading(released) as session:
        pairs = questions_of(session, 1, LanguageRecipe(), run.parameters["seed"]).train
        losses, evaluations = course_of(session, run)
    folder, merged = (settings.data_folder / result[name] for name in ("model", "merged"))
    assert share_answered_right(small_llama, pairs) < 0.7
    assert share_answered_right(folder, pairs, base=str(small_llama)) > 0.95
    assert share_answered_right(merged, pairs) > 0.95
    assert result["after"]["right"] > result["before"]["right"]
    assert [evaluation.epoch for evaluation in evaluations] == list(range(9))
    assert (evaluations[0].figures, evaluations[-1].figures) == (result["before"], result["after"])
    assert set(evaluations[-1].figures) == {"right", "right:Yes", "right:No", "eval_loss"}
    assert losses[-1].loss < losses[0].loss
    assert "release 1" in kind_of(run.kind).sum_up(result)
    assert not list((settings.data_folder / run.folder).glob("checkpoint*"))

    card = (folder / "README.md").read_text("utf-8")
    assert run.inputs["release"] in card and "rank: 16" in card and "trl " in card
    assert str(small_llama) not in card and str(settings.data_folder) not in card
    config = json.loads((folder / "adapter_config.json").read_text("utf-8"))
    assert config["base_model_name_or_path"] == str(small_llama.resolve())

    delete_run(released, settings, run.id)
    assert not folder.exists() and not merged.exists()


def test_a_resumed_training_ends_with_the_weights_of_an_unbroken_one(
    released: Engine, settings: Settings, small_llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from safetensors.torch import load_file

    from training.llm import trainer

    monkeypatch.setattr(trainer, "CHECKPOINT_EVERY", 4)
    values = WHOLE | {"epochs": 2, "gradient_checkpointing": True, "dropout": 0.1}
    whole = carry_out(released, settings, ask(released, small_llama, values))

    class Cut(trainer.LanguageProgress):
        def update(self, step: int, total: int, message: str) -> None:
            super().update(step, total, message)
            if step == 7:
                self._context.interrupt(RunState.INTERRUPTED)

    other = ask(released, small_llama, values)
    with monkeypatch.context() as patch:
        patch.setattr(trainer, "LanguageProgress", Cut)
        with pytest.raises(RunEnded):
            carry_out(released, settings, other)
    folder = settings.data_folder / other.folder
    assert [path.name for path in folder.glob("checkpoint-*")] == ["checkpoint-4"]
    with writing(released) as session:
        requeue(session, other.id)
    resumed = carry_out(released, settings, other)

    assert "pace" in whole.result and "pace" not in resumed.result
    expected, found = (
        load_file(settings.data_folder / run.result["model"] / "adapter_model.safetensors")
        for run in (whole, resumed)
    )
    assert expected.keys() == found.keys()
    assert all(torch.equal(weights, found[name]) for name, weights in expected.items())
    with reading(released) as session:
        assert evaluations_of(session, resumed) == evaluations_of(session, whole)


def failure(engine: Engine, settings: Settings, base: Path, **values: object) -> str:
    """The reason why a finetuning run ends without a model. Only its log is left."""
    run = ask(engine, base, values)
    with pytest.raises(RunEnded):
        carry_out(engine, settings, run)
    left = {path.name for path in (settings.data_folder / run.folder).iterdir()}
    assert left <= {"log.txt", "metrics.jsonl"}
    return stored_run(engine, run.id).message


def test_a_cancelled_training_leaves_no_model(
    released: Engine, settings: Settings, small_llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from training.llm import trainer

    monkeypatch.setattr(execution, "HEARTBEAT_SECONDS", 0.01)
    seen: list[int] = []

    class Asked(trainer.LanguageProgress):
        def update(self, step: int, total: int, message: str) -> None:
            seen.append(step)
            if step == 3:
                with writing(released) as session:
                    request_cancel(session, 1)
            super().update(step, total, message)

    monkeypatch.setattr(trainer, "LanguageProgress", Asked)
    assert "Cancelled" in failure(released, settings, small_llama, epochs=500)
    assert 3 <= max(seen) < 1_000


def test_failures_give_one_sentence(
    released: Engine,
    settings: Settings,
    small_llama: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "48 question pairs have more than 9 tokens" in failure(
        released, settings, small_llama, max_length=9
    )
    assert "c_attn" in failure(released, settings, small_llama, targets="c_attn")
    base = Path(shutil.copytree(small_llama, tmp_path / "llama"))
    (base / "chat_template.jinja").write_text("{{ raise_exception('no such role') }}")
    assert "(no such role)" in failure(released, settings, base)
    run = ask(released, base, seed=2)
    shutil.rmtree(base)
    with pytest.raises(RunEnded, match="no model folder"):
        carry_out(released, settings, run)
    from training.llm import trainer

    real = trainer.QuestionTrainer.compute_loss

    def broken(self: trainer.QuestionTrainer, *given: object, **more: object) -> object:
        return real(self, *given, **more) * (float("inf") if self.state.global_step > 1 else 1.0)

    monkeypatch.setattr(trainer.QuestionTrainer, "compute_loss", broken)
    message = failure(released, settings, small_llama, learning_rate=0.5)
    assert "diverged before step 3 " in message and "now 0.5" in message


@pytest.fixture
def of_both_kinds(engine: Engine, fill: Fill) -> Engine:
    """A release whose anchors have an original entailment and contradiction."""

    def made(session: Session) -> None:
        seed_taxonomy(session)
        ensure_types(session, [ENTAILMENT, CONTRADICTION])
        for number in range(6):
            variants = {
                "word": [f"Door {number} is probably open."],
                "verbal": [f"Door {number} is not open."],
                ENTAILMENT: [f"One can walk through door {number}."],
                CONTRADICTION: [f"Nobody gets through door {number}."],
            }
            split = Split.VALIDATION if number > 3 else Split.TRAIN
            add_family(session, f"Door {number} is open.", variants, split=split)
        freeze(session, author_id=None)

    fill(engine, made)
    return engine


def ask_for_study(engine: Engine, base: Path) -> Run:
    return perform(engine, COMPARE_ARMS, LanguageTraining(base=str(base), recipe=recipe()))


def test_the_three_arms_are_trained_in_turn_and_measured_on_the_same_questions(
    of_both_kinds: Engine, settings: Settings, small_llama: Path
) -> None:
    engine = of_both_kinds
    run = ask_for_study(engine, small_llama)
    with pytest.raises(HedgerowError, match=f"Run {run.id}"):
        ask_for_study(engine, small_llama)
    execution.execute(engine, settings, run.id, WORK)
    ended = stored_run(engine, run.id)
    with reading(engine) as session:
        rows = arm_rows(trials(session, ended))
    assert [row.run.parameters["recipe"]["arm"] for row in rows] == ["paper", "negation", "hedging"]
    assert len({row.label for row in rows}) == 3 and [row.pairs for row in rows] == [8, 8, 8]
    assert {row.run.result["pairs"]["validation"] for row in rows} == {8}
    assert len({str(row.before) for row in rows}) == 1, "the base model, on the same questions"
    assert {(row.run.state, study_of(row.run)) for row in rows} == {(RunState.DONE, run.id)}
    assert ended.result["members"] == dict.fromkeys(map(str, (2, 3, 4)), "done")
    with pytest.raises(HedgerowError, match="run 1"):
        delete_run(engine, settings, 2)
    assert len(delete_run(engine, settings, run.id)) == 4


def test_arms_without_questions_are_not_compared(released: Engine, small_llama: Path) -> None:
    """Nobody accepted an entailment, a paraphrase or a contradiction, so one arm is left."""
    with pytest.raises(HedgerowError, match="not enough data to compare arms"):
        ask_for_study(released, small_llama)


@pytest.mark.slow
def test_a_model_without_a_template_is_asked_the_bare_question(
    released: Engine, settings: Settings, without_template: Path
) -> None:
    values = {"chat_template": False, "targets": "all-linear"}
    run = carry_out(released, settings, ask(released, without_template, values))
    folder = settings.data_folder / run.result["model"]
    assert 'tokenizer(QUESTION, return_tensors="pt")' in (folder / "README.md").read_text("utf-8")
    assert not (folder / "chat_template.jinja").exists()


def pair(number: int, answer: str) -> QuestionPair:
    sentence = f"Door {number} is {'very ' * number}open."
    return QuestionPair("a", "v", "verbal", sentence, "It is not open.", answer, Split.TRAIN)


PAIRS = [pair(number, answer) for number in range(20) for answer in ("Yes", "No")]


@pytest.mark.slow
@pytest.mark.parametrize("chat", [True, False])
def test_the_answers_differ_in_the_token_after_the_question(chat: bool) -> None:
    tokenizer = small_tokenizer()
    asker = Asker(tokenizer, chat=chat)
    for choice, asked in zip(asker.choices(PAIRS), PAIRS, strict=True):
        text = tokenizer.decode(choice.ids)
        assert asked.prompt in text
        assert text.endswith("<|assistant|>\n" if chat else "Answer:")
        assert [tokenizer.decode([token]).strip() for token in choice.first] == ["Yes", "No"]
        assert ("Yes", "No")[choice.right] == asked.answer
    longest = len(asker.tokens(PAIRS[10].prompt, "Yes"))
    assert asker.fitting(PAIRS, longest=longest) == PAIRS[:12]


def test_the_share_is_that_of_one_question_at_a_time(small_llama: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from training.llm.trainer import shares_right

    tokenizer = AutoTokenizer.from_pretrained(small_llama)
    model: Any = AutoModelForCausalLM.from_pretrained(small_llama).eval()
    choices = Asker(tokenizer, chat=True).choices(PAIRS)
    check, right = Mock(), list[bool]()
    with torch.no_grad():
        model.lm_head.weight.mul_(30)  # random weights give equal answers
        found = shares_right(model, choices, pad=tokenizer.pad_token_id, check=check)
        for choice in choices:
            yes, no = model(torch.tensor([choice.ids])).logits[0, -1][list(choice.first)]
            right.append(bool(yes < no) == bool(choice.right))
    assert check.called and found["right"] == pytest.approx(sum(right) / len(right))
    assert found["right"] == pytest.approx((found["right:Yes"] + found["right:No"]) / 2)


def test_a_release_with_questions_to_train_on_is_needed(engine: Engine, small_llama: Path) -> None:
    def refused(fact: str) -> None:
        with pytest.raises(HedgerowError, match=fact):
            ask(engine, small_llama)

    refused("no release yet")
    hedge, negation = {"word": ["It is probably open."]}, {"verbal": ["It is not open."]}
    for anchor, variants, split, fact in (
        ("The door is open.", hedge, Split.TRAIN, "a negation and a hedge"),
        ("The gate is open.", hedge | negation, Split.VALIDATION, "train split of release 2"),
    ):
        with writing(engine) as session:
            add_family(session, anchor, variants, split=split)
            freeze(session, author_id=None)
        refused(fact)


def test_impossible_values_are_refused_and_nothing_is_stored(
    released: Engine, small_llama: Path, without_template: Path
) -> None:
    for how, fact in (
        ({"seed": -1}, "seed"),
        ({"release": 7}, "release 7"),
        ({"values": {"arm": "hedging"}}, "new release"),
        ({"values": {"four_bit": True}}, "four_bit"),
    ):
        with pytest.raises(HedgerowError, match=fact):
            ask(released, small_llama, **how)
    with pytest.raises(HedgerowError, match="chat_template=false"):
        ask(released, without_template)
    assert ask(released, small_llama).id == 1
    with pytest.raises(HedgerowError, match="Run 1"):
        ask(released, small_llama)
    assert ask(released, small_llama, seed=2).id == 2


@pytest.mark.slow
def test_pairs_are_sampled_by_the_seed_and_measured_alike_in_every_arm(released: Engine) -> None:
    with reading(released) as session:
        few = LanguageRecipe(max_pairs=10)
        first, again, other = (questions_of(session, 1, few, seed) for seed in (1, 1, 2))
        assert first == again != other
        assert len(first.train) == 10 and len(first.validation) == 4 * HELD_OUT
        assert {pair.split for pair in first.train} == {Split.TRAIN}
        of_paper = questions_of(session, 1, LanguageRecipe(arm="paper"), 1)
        assert of_paper.validation == first.validation


def test_an_outlook_tells_the_time_once_the_model_was_finetuned_here(
    released: Engine, small_llama: Path
) -> None:
    run = ask(released, small_llama)
    wanted, base = recipe(epochs=3, max_pairs=24), request_of(run).base
    with reading(released) as session:
        before = forecast(session, wanted, base=base, release_number=1)
    assert before == (4 * TRAINED, 24, 4 * HELD_OUT, 9, None, None)
    with writing(released) as session:
        row = get_run(session, run.id)
        row.state, row.host = RunState.DONE, socket.gethostname()
        row.result = {"pace": 4.0, "measuring_pace": 8.0}
    with reading(released) as session:
        after = forecast(session, wanted, base=base, release_number=1)
        other = forecast(session, recipe(rank=4), base=base, release_number=1)
    assert (after.seconds, after.by_run) == (3 * 24 / 4 + 4 * 4 * HELD_OUT / 8, run.id)
    assert other.seconds is None


def test_a_recipe_has_the_papers_values_and_survives_yaml_and_assignments(tmp_path: Path) -> None:
    paper = LanguageRecipe()
    assert (paper.epochs, paper.rank, paper.alpha, paper.dropout) == (20, 16, 16, 0)
    layers = "q_proj k_proj v_proj o_proj gate_proj up_proj down_proj".split()
    assert list(paper.targets) == layers
    other = LanguageRecipe(epochs=2, modules_to_save="embed_tokens, lm_head", four_bit=True)
    file = tmp_path / "recipe.yaml"
    file.write_text(other.to_yaml())
    assert LanguageTraining(base="x", recipe=file).whole_recipe() == other
    assert LanguageTraining(base="x").whole_recipe() == paper
    file.write_text("rank: 8\narm: hedging\n")
    changes = ("targets=q_proj,v_proj", "max_pairs=none")
    found = LanguageTraining(base="x", recipe=file, settings=changes).whole_recipe("negation")
    assert (found.rank, found.arm, found.targets) == (8, "negation", ("q_proj", "v_proj"))
    assert found.hash != other.hash
    few = LanguageRecipe(epochs=1.5, batch_size=8, gradient_accumulation=2, max_pairs=100)
    assert few.sampled(1_000) == 100 and few.sampled(60) == 60
    assert few.steps(100) == 11  # 13 batches, 7 steps per epoch


@pytest.mark.parametrize(
    ("values", "fact"),
    [
        ({"ranks": 4}, "'ranks'.*'rank'"),
        ({"arm": "all"}, "arm .*'both', 'paper', 'negation' or 'hedging', found 'all'"),
        ({"epochs": 0}, "epochs .*found 0"),
        ({"targets": ""}, "targets"),
        ({"targets": "all-linear,q_proj"}, "all-linear alone"),
        ({"modules_to_save": "lm head; rm"}, "modules_to_save"),
        ({"version": 9}, "version 9"),
    ],
)
def test_a_wrong_value_gives_one_sentence(values: dict[str, Any], fact: str) -> None:
    with pytest.raises(HedgerowError, match=fact):
        LanguageRecipe(**values)


def test_a_causal_model_is_known_by_its_files(
    small_llama: Path, without_template: Path, tmp_path: Path
) -> None:
    assert clean_base(f" {small_llama} ") == str(small_llama.resolve())
    assert clean_base("gpt2") == "gpt2", "a name on the hub may have no owner"
    assert has_chat_template(small_llama) and not has_chat_template(without_template)
    older = Path(shutil.copytree(without_template, tmp_path / "older"))
    place = older / "tokenizer_config.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | {"chat_template": "{{ x }}"}))
    assert has_chat_template(older), "older tokenizers have it in their configuration"


def test_other_models_are_refused(small_llama: Path, tiny_encoder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    adapter, pickled, cut = (
        Path(shutil.copytree(small_llama, tmp_path / name)) for name in ("adapter", "pickle", "cut")
    )
    (adapter / "adapter_config.json").write_text("{}")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    for base, fact in {
        checkpoint("BertForMaskedLM", tmp_path / "bert"): "found BertForMaskedLM",
        checkpoint("T5ForConditionalGeneration", tmp_path / "t5"): "found T5ForConditional",
        tiny_encoder: "found a sentence-transformers model",
        "all-MiniLM-L6-v2": "found a sentence-transformers model",
        adapter: "an adapter",
        pickled: r"\*.safetensors",
        "  ": "found nothing",
        tmp_path / "nowhere": "no model folder",
    }.items():
        with pytest.raises(HedgerowError, match=fact):
            clean_base(str(base))
    with pytest.raises(HedgerowError, match="'nobody/llama' is not on this machine"):
        check_base("nobody/llama", chat_template=True)
    weights = load_file(cut / "model.safetensors")
    del weights["model.norm.weight"]
    save_file(weights, cut / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(HedgerowError, match=r"model.norm.weight"):
        load_base(cut)
