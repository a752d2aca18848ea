"""Causal language models as scorers: small Llamas, compared with transformers' own results."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.encoders.loading import check_encoder, fingerprint
from db.errors import HedgerowError
from tests.support.small_llama import BEGIN, END, PAD, TEXTS, save_small_llama, small_tokenizer
from training.benchmarks.definition import Question
from training.benchmarks.scorers.architecture import architecture_of, load_scorer
from training.benchmarks.scorers.prompted import causal
from training.benchmarks.scorers.prompted.causal import GRID, AnswerTokens

PROMPTS = [
    "Document 1: The harbour is open.\nDocument 2: The harbour is closed.\nAnswer:",
    "Which one? Answer:",
    "Which 1ne? Answer:",
]

SCORES = [f"{number:.1f}" for number in GRID]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base model: its tokenizer has no chat template."""
    return save_small_llama(tmp_path_factory.mktemp("plain"), chat_template=None)


@pytest.fixture
def changed(plain: Path, tmp_path: Path) -> Path:
    """A copy of it for changes."""
    return Path(shutil.copytree(plain, tmp_path / "changed"))


def change_weights(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def directly(scorer: Any, folder: Path) -> Callable[[str, list[str]], np.ndarray]:
    """The likelihoods of answers to a prompt, token by token, without a cache."""
    import torch
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    chats = tokenizer.chat_template is not None

    def likelihood(prompt: str, answer: str) -> float:
        start = tokenizer(prompt, add_special_tokens=not chats).input_ids
        whole = tokenizer(prompt + answer, add_special_tokens=not chats).input_ids
        assert whole[: len(start)] == start
        with torch.inference_mode():
            logits = scorer.model(input_ids=torch.tensor([whole])).logits[0].log_softmax(-1)
        places = range(len(start), len(whole))
        return math.exp(sum(float(logits[place - 1, whole[place]]) for place in places))

    def shares(prompt: str, answers: list[str]) -> np.ndarray:
        if chats:
            turn = [{"role": "user", "content": prompt}]
            how = {"tokenize": False, "add_generation_prompt": True}
            prompt = tokenizer.apply_chat_template(turn, **how)
        found = [likelihood(prompt, a) + likelihood(prompt, f" {a}") for a in answers]
        return np.array(found) / sum(found)

    return shares


@pytest.mark.slow
def test_choices_and_similarities_go_by_the_likelihood_of_answers_with_and_without_a_space(
    plain: Path, small_llama: Path
) -> None:
    assert len(GRID) == 21 and "0.0" in SCORES and "-0.0" not in SCORES
    for folder in (plain, small_llama):
        scorer: Any = load_scorer(str(folder))
        shares = directly(scorer, folder)
        for answers in (["1", "2"], ["1", "2", "3"]):
            for prompt, row in zip(PROMPTS, scorer.chosen(PROMPTS, len(answers)), strict=True):
                assert np.exp(row) == pytest.approx(shares(prompt, answers), abs=1e-5)
    scorer = load_scorer(str(plain))
    found = scorer.rated(PROMPTS)
    shares = directly(scorer, plain)
    means = [float(shares(prompt, SCORES) @ GRID) for prompt in PROMPTS]
    assert found == pytest.approx(means, abs=1e-5)
    assert np.ptp(found) > 1e-4, "the model distinguishes the prompts"


@pytest.mark.slow
def test_a_prompt_is_read_once_for_all_of_its_answers_and_batches_change_nothing(
    plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer: Any = load_scorer(str(plain))
    prompts = [f"{prompt} {n}" for prompt in PROMPTS for n in range(9)]
    report = Mock()
    whole = scorer.rated(prompts, on_progress=report)
    assert report.call_args.args == (27, 27), "all of them"
    assert report.call_count < 27, "prompts of one length go together"
    monkeypatch.setattr(causal, "TOKENS", 1)
    assert scorer.rated(prompts) == pytest.approx(whole, abs=1e-5)
    forward = Mock(wraps=scorer.model.forward)
    monkeypatch.setattr(scorer.model, "forward", forward)
    scorer.rated(PROMPTS[:1])
    first, after = (call.kwargs["input_ids"].shape[1] for call in forward.call_args_list)
    assert first > 20 > after, "only answers follow"
    scorer.chosen(PROMPTS[:1], 2)
    assert forward.call_count == 3, "answers of one token need nothing more"


@pytest.mark.slow
def test_a_prompt_that_is_too_long_has_no_answer(tmp_path: Path) -> None:
    scorer: Any = load_scorer(str(save_small_llama(tmp_path, max_position_embeddings=128)))
    questions = [Question("q", ("a", text)) for text in ("b", "b " * 200)]
    first, second = scorer.answer(questions, asks="relevance")
    assert np.isfinite(first).all() and np.isnan(second).all()
    assert (scorer.report()["prompts"], scorer.report()["unanswered"]) == (4, 2)
    assert np.isnan(scorer.score([("a", "b " * 200)], asks="similarity")).all()


@pytest.mark.slow
def test_an_adapter_is_measured_with_its_base(tmp_path: Path, plain: Path) -> None:
    import torch
    from peft import LoraConfig, PeftModel, get_peft_model
    from transformers import AutoModelForCausalLM

    folder = tmp_path / "adapter"
    layers = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj"]
    config = LoraConfig(r=4, lora_alpha=8, target_modules=layers, task_type="CAUSAL_LM")
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(str(plain)), config)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if "lora_" in name:
                weights.normal_(0, 0.3, generator=torch.manual_seed(3))
    model.save_pretrained(folder)
    assert architecture_of(folder) == "causal-lm"
    scorer: Any = load_scorer(str(folder))
    base, again = (AutoModelForCausalLM.from_pretrained(str(plain)) for _ in range(2))
    theirs = PeftModel.from_pretrained(again, str(folder)).eval()
    ids = torch.tensor([[5, 6, 7, 8]])
    with torch.inference_mode():
        expected = theirs(input_ids=ids).logits
        assert torch.allclose(scorer.model(input_ids=ids).logits, expected, atol=1e-4)
        assert not torch.allclose(base(input_ids=ids).logits, expected, atol=1e-3)
    assert fingerprint(folder) != fingerprint(plain)
    for other in (folder, plain):
        with pytest.raises(HedgerowError, match="found LlamaForCausalLM"):
            check_encoder(str(other))
    place = folder / "adapter_config.json"
    elsewhere = {"base_model_name_or_path": "nobody/nowhere-at-all"}
    place.write_text(json.dumps(json.loads(place.read_text()) | elsewhere))
    assert architecture_of(folder) == "causal-lm", "though its base is elsewhere"


def lose_a_weight(folder: Path) -> None:
    change_weights(folder, lambda weights: weights.pop("model.norm.weight"))


def pickle_weights(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def add_tokens(folder: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["<one>", "<two>"])
    tokenizer.save_pretrained(folder)


def bring_code(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    code = {"AutoModelForCausalLM": "mine.Mine", "AutoConfig": "mine.MineConfig"}
    (folder / "config.json").write_text(
        json.dumps(config | {"model_type": "mine", "auto_map": code})
    )
    (folder / "mine.py").write_text(f"open({str(folder / 'ran')!r}, 'w')")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "fact"),
    [
        (lose_a_weight, r"model\.norm\.weight"),
        (pickle_weights, r"\*.safetensors"),
        (add_tokens, "a tokenizer of at most .* tokens"),
        (bring_code, "Could not load"),
        (lambda folder: (folder / "tokenizer.json").write_text("{"), "JSON in|Could not load"),
    ],
)
def test_a_model_that_cannot_be_loaded_gives_one_sentence_and_none_of_its_code_is_run(
    changed: Path, change: Callable[[Path], Any], fact: str
) -> None:
    change(changed)
    with pytest.raises(HedgerowError, match=fact):
        load_scorer(str(changed))
    assert not (changed / "ran").exists()


@pytest.mark.slow
def test_templates_and_weights_that_fail_give_one_sentence(changed: Path) -> None:
    template = changed / "chat_template.jinja"
    before = fingerprint(changed)
    for text, fact in (("{{ raise_exception('Only system') }}", "Only system"), ("{% if %}", "")):
        template.write_text(text)
        with pytest.raises(HedgerowError, match=f"chat template.*{fact}"):
            load_scorer(str(changed)).chosen(["a"], 2)  # type: ignore[attr-defined]
    assert fingerprint(changed) != before, "it is part of what a model is"
    template.unlink()
    change_weights(changed, lambda weights: weights["model.norm.weight"].fill_(math.nan))
    with pytest.raises(HedgerowError, match="not finite"):
        load_scorer(str(changed)).chosen(["a"], 2)  # type: ignore[attr-defined]


def bpe(pre: Any, decoder: Any) -> Any:
    from tokenizers import Tokenizer, models, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.decoder = decoder
    if pre is not None:
        tokenizer.pre_tokenizer = pre
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=[PAD, BEGIN, END],
        initial_alphabet=sorted(set("".join(TEXTS)) | set("▁0123456789-.")),
        show_progress=False,
    )
    tokenizer.train_from_iterator(list(TEXTS) * 2, trainer)
    special = {"pad_token": PAD, "bos_token": BEGIN, "eos_token": END}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


@pytest.fixture(scope="module")
def tokenizers() -> list[Any]:
    """Byte-level as Llama 3, spaces before words as Llama 2, and with tokens across words."""
    from tokenizers import decoders, pre_tokenizers

    space = pre_tokenizers.Metaspace(prepend_scheme="always")
    spaced, across = bpe(space, decoders.Metaspace()), bpe(None, decoders.Fuse())
    return [small_tokenizer(chat_template=None), spaced, across]


def asked(tokenizer: Any, prompts: list[str], answers: list[str], longest: int = 0) -> Any:
    words = SimpleNamespace(weight=SimpleNamespace(shape=(10_000, 8)))
    config = SimpleNamespace(max_position_embeddings=longest or None)
    model: Any = SimpleNamespace(config=config, get_input_embeddings=lambda: words)
    return AnswerTokens(tokenizer, model).asked(prompts, answers)


@pytest.mark.slow
@pytest.mark.parametrize("answers", [["1", "2"], ["1", "2", "3"], SCORES])
def test_prompt_and_answer_together_are_the_text(tokenizers: list[Any], answers: list[str]) -> None:
    prompt = "Which document is more relevant to the query? Please choose 1 or 2. Answer:"
    for tokenizer in tokenizers:
        (one,) = asked(tokenizer, [prompt], answers)
        for answer, ways in zip(answers, one.answers.ways, strict=True):
            texts = {
                tokenizer.decode([*one.ids, *one.answers.spelled[way]], skip_special_tokens=True)
                for way in ways
            }
            assert texts == {f"{prompt}{answer}", f"{prompt} {answer}"}
        spelled = one.answers.spelled
        assert len(set(spelled)) == len(spelled)
        for ids in spelled:  # none is the beginning of another
            assert not any(other != ids and other[: len(ids)] == ids for other in spelled)


@pytest.mark.slow
def test_the_end_of_a_prompt(tokenizers: list[Any]) -> None:
    bytes_, _, across = tokenizers
    numbers = ["1", "2"]
    prompt = "choose 1 or 2. Answer:"
    (one,) = asked(across, [prompt], numbers)
    assert one.answers.cut > 0, "a token across it belongs to the answers"
    assert prompt.startswith(across.decode(list(one.ids)))
    first, second = asked(bytes_, ["Answer:", "Answer: \n"], numbers)
    assert first == second, "white space does not count"
    most = len(first.ids) + max(map(len, first.answers.spelled))
    for longest, ids in ((most, first.ids), (most - 1, None)):
        assert asked(bytes_, ["Answer:"], numbers, longest)[0].ids == ids


@given(st.sets(st.lists(st.integers(0, 2), min_size=1, max_size=4).map(tuple), min_size=1))
def test_the_tokens_after_a_prompt_predict_every_answer(answers: set[tuple[int, ...]]) -> None:
    paths = causal.longest_beginnings(sorted(answers))
    for ids in answers:
        assert len(ids) == 1 or any(path[: len(ids) - 1] == ids[:-1] for path in paths)
    for path in paths:
        assert any(ids[:-1] == path for ids in answers), "nothing is read unnecessarily"
