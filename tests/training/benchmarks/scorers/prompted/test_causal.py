"""Causal language models as scorers: small Llamas, compared with transformers' own results."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.encoders.loading import check_encoder, fingerprint
from db.errors import HedgerowError
from tests.support.small_llama import save_small_llama
from tests.training.benchmarks.support.samples import NEVIR, semantoneg_rows, write_lines
from training.benchmarks.definition import Question
from training.benchmarks.results.measure import measure
from training.benchmarks.scorers.architecture import architecture_of, load_scorer
from training.benchmarks.scorers.prompted import likelihoods
from training.benchmarks.scorers.prompted.causal import GRID, Causal
from training.benchmarks.scorers.prompted.orders import choice_prompts
from training.benchmarks.scorers.prompted.wording import installed
from training.benchmarks.tasks.nevir import NevIR
from training.benchmarks.tasks.semantoneg import SemAntoNeg

PROMPTS = [
    "Document 1: The harbour is open.\nDocument 2: The harbour is closed.\nAnswer:",
    "Which one? Answer:",
    "Which 1ne? Answer:",
]


def loaded(folder: Path) -> Causal:
    found = load_scorer(str(folder))
    assert isinstance(found, Causal)
    return found


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base model: its tokenizer has no chat template."""
    return save_small_llama(tmp_path_factory.mktemp("plain"), chat_template=None)


Directly = Callable[[str, str], float]


def directly(scorer: Causal, before: str) -> Directly:
    """The log probability of an answer after a prompt, token by token, without a cache."""
    import torch

    tokenizer = scorer._tokens._tokenizer

    def value(prompt: str, answer: str) -> float:
        start = tokenizer(prompt, add_special_tokens=not before).input_ids
        whole = tokenizer(prompt + answer, add_special_tokens=not before).input_ids
        assert whole[: len(start)] == start
        with torch.inference_mode():
            logits = scorer.model(input_ids=torch.tensor([whole])).logits[0].log_softmax(-1)
        places = range(len(start), len(whole))
        return sum(float(logits[place - 1, whole[place]]) for place in places)

    return value


def test_choices_go_by_the_likelihood_of_the_number_with_and_without_a_space(
    plain: Path, small_llama: Path
) -> None:
    for folder in (plain, small_llama):
        scorer = loaded(folder)
        tokenizer: Any = scorer._tokens._tokenizer
        texts = PROMPTS
        if tokenizer.chat_template:
            texts = [
                tokenizer.apply_chat_template(
                    [{"role": "user", "content": prompt}],
                    tokenize=False,
                    add_generation_prompt=True,
                )
                for prompt in PROMPTS
            ]
        value = directly(scorer, tokenizer.chat_template or "")
        for choices in (2, 3):
            found = scorer.chosen(PROMPTS, choices)
            for text, row in zip(texts, found, strict=True):
                likely = np.array(
                    [
                        math.exp(value(text, f"{n}")) + math.exp(value(text, f" {n}"))
                        for n in range(1, choices + 1)
                    ]
                )
                assert np.exp(row) == pytest.approx(likely / likely.sum(), abs=1e-5)


def test_a_similarity_is_the_mean_of_the_answers_as_often_as_they_are_likely(plain: Path) -> None:
    scorer = loaded(plain)
    value = directly(scorer, "")
    found = scorer.rated(PROMPTS)
    for prompt, rated in zip(PROMPTS, found, strict=True):
        answers = [f"{number:.1f}" for number in GRID]
        likely = np.array(
            [math.exp(value(prompt, a)) + math.exp(value(prompt, f" {a}")) for a in answers]
        )
        assert len(GRID) == 21 and "0.0" in answers and "-0.0" not in answers
        assert rated == pytest.approx(float(likely @ GRID / likely.sum()), abs=1e-5)
    assert np.ptp(found) > 1e-4, "the model distinguishes the prompts"


def test_batches_change_nothing(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = loaded(plain)
    prompts = [f"{prompt} {n}" for prompt in PROMPTS for n in range(9)]
    seen: list[tuple[int, int]] = []
    whole = scorer.rated(prompts, on_progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (27, 27) and len(seen) < 27, "prompts of one length go together"
    monkeypatch.setattr(likelihoods, "TOKENS", 1)
    assert scorer.rated(prompts) == pytest.approx(whole, abs=1e-5)


def test_a_prompt_is_read_once_for_all_of_its_answers(
    plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer = loaded(plain)
    read: list[int] = []
    forward = scorer.model.forward

    def counted(*args: Any, **more: Any) -> Any:
        read.append(more["input_ids"].shape[1])
        return forward(*args, **more)

    monkeypatch.setattr(scorer.model, "forward", counted)
    scorer.rated(PROMPTS[:1])
    first, after = read
    assert first > 20 > after, "only answers follow"
    scorer.chosen(PROMPTS[:1], 2)
    assert len(read) == 3, "answers of one token need nothing more"


def test_a_prompt_that_is_too_long_has_no_answer(tmp_path: Path) -> None:
    scorer = loaded(save_small_llama(tmp_path, max_position_embeddings=128))
    short, long = Question("q", ("a", "b")), Question("q", ("a", "b " * 200))
    first, second = scorer.answer([short, long], asks="relevance")
    assert np.isfinite(first).all() and np.isnan(second).all()
    assert (scorer.report()["prompts"], scorer.report()["unanswered"]) == (4, 2)
    assert np.isnan(scorer.score([("a", "b " * 200)], asks="similarity")).all()


def always(folder: Path, answer: str) -> Path:
    """A model that always gives the same answer: its output depends only on the last token of a
    prompt, after which this answer is the most likely."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        asked = tokenizer("Answer:", add_special_tokens=False).input_ids[-1]
        token = tokenizer(f"Answer: {answer}", add_special_tokens=False).input_ids[-1]
        model.lm_head.weight[token] = 10 * model.model.embed_tokens.weight[asked]
    model.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("number", ["1", "2"])
def test_a_model_that_always_says_the_same_gains_nothing_and_shows(
    tmp_path: Path, number: str
) -> None:
    folder = always(save_small_llama(tmp_path / "model", chat_template=None), number)
    nevir = NevIR.read(write_lines(tmp_path / "n.jsonl", NEVIR))
    result = measure(nevir, loaded(folder))
    assert (result.score, result.ties, result.unanswered) == (0.0, 2, 0)
    assert result.asked["changed_share"] == 100.0
    assert result.asked["first_share"] == (100.0 if number == "1" else 0.0)
    three = SemAntoNeg.read(write_lines(tmp_path / "s.jsonl", semantoneg_rows()))
    result = measure(three, loaded(folder))
    assert (result.score, result.ties, result.asked["changed_share"]) == (0.0, 6, 100.0)


def taught(folder: Path, answers: dict[str, str]) -> Path:
    """The model, trained until it gives these answers to these prompts."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer.padding_side = "right"
    texts = [f"{prompt} {answer}" for prompt, answer in answers.items()]
    batch = tokenizer(texts, return_tensors="pt", padding=True)
    last = batch.attention_mask.sum(1) - 1
    rows = torch.arange(len(texts))
    right = batch.input_ids[rows, last]
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        for _ in range(500):
            logits = model(**batch).logits[rows, last - 1]
            loss = torch.nn.functional.cross_entropy(logits, right)
            if float(loss.detach()) < 0.05:
                break
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    assert float(loss.detach()) < 0.1
    model.save_pretrained(folder)
    return folder


@pytest.mark.slow
def test_a_model_that_knows_gets_every_item_right(tmp_path: Path) -> None:
    nevir = NevIR.read(write_lines(tmp_path / "n.jsonl", NEVIR))
    three = SemAntoNeg.read(write_lines(tmp_path / "s.jsonl", semantoneg_rows()[:2]))
    answers = {}
    for question, right in zip(nevir.questions(), (0, 1) * 2, strict=True):
        first, second = choice_prompts([question], "relevance", installed())
        answers |= {first: "12"[right], second: "21"[right]}
    for item in three.items:
        prompts = choice_prompts(three.asked(item), "paraphrase_choice", installed())
        answers |= dict(zip(prompts, ["132", "213", "321"][item.label], strict=True))
    folder = save_small_llama(
        tmp_path / "model", chat_template=None, texts=list(answers), vocabulary=900, hidden=64
    )
    scorer = loaded(taught(folder, answers))
    result = measure(nevir, scorer)
    assert (result.score, result.n, result.ties) == (100.0, 2, 0)
    assert (result.asked["first_share"], result.asked["changed_share"]) == (50.0, 0.0)
    result = measure(three, scorer)
    assert (result.score, result.asked["orders"], result.asked["changed_share"]) == (100.0, 3, 0.0)


def adapter(folder: Path, base: Path) -> Path:
    """A LoRA adapter from peft with random weights."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    config = LoraConfig(
        r=4,
        lora_alpha=8,
        target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj"],
        task_type="CAUSAL_LM",
    )
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(str(base)), config)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(3)
        for name, weights in model.named_parameters():
            if "lora_" in name:
                weights.normal_(0, 0.3)
    model.save_pretrained(folder)
    return folder


def test_an_adapter_is_measured_with_its_base(tmp_path: Path, plain: Path) -> None:
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    folder = adapter(tmp_path / "adapter", plain)
    assert architecture_of(folder) == "causal-lm"
    scorer = loaded(folder)
    theirs = PeftModel.from_pretrained(
        AutoModelForCausalLM.from_pretrained(str(plain)), str(folder)
    )
    ids = torch.tensor([[5, 6, 7, 8]])
    with torch.inference_mode():
        expected = theirs.eval()(input_ids=ids).logits
        assert torch.allclose(scorer.model(input_ids=ids).logits, expected, atol=1e-4)
    assert not np.allclose(scorer.chosen(PROMPTS, 2), loaded(plain).chosen(PROMPTS, 2), atol=1e-3)
    assert fingerprint(folder) != fingerprint(plain)


def test_an_adapter_whose_base_is_elsewhere_says_what_it_is(tmp_path: Path, plain: Path) -> None:
    folder = adapter(tmp_path / "adapter", plain)
    config = json.loads((folder / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = "nobody/nowhere-at-all"
    (folder / "adapter_config.json").write_text(json.dumps(config))
    assert architecture_of(folder) == "causal-lm"


def test_encoders_are_checked_as_before(plain: Path, tmp_path: Path) -> None:
    assert architecture_of(plain) == "causal-lm"
    with pytest.raises(HedgerowError, match="found LlamaForCausalLM: a causal language model"):
        check_encoder(str(plain))
    with pytest.raises(HedgerowError, match="found LlamaForCausalLM: a causal language model"):
        check_encoder(str(adapter(tmp_path / "adapter", plain)))
    for architecture in ("bi-encoder", "cross-encoder", "monot5"):
        with pytest.raises(HedgerowError, match=f"Expected a {architecture} in .*a causal-lm"):
            load_scorer(str(plain), architecture)
    with pytest.raises(HedgerowError, match="Expected a causal-lm in .*, found a bi-encoder"):
        load_scorer("all-MiniLM-L6-v2", "causal-lm")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ raise_exception('Only system prompts') }}", "chat template .*Only system prompts"),
        ("{% if %}", "Could not use the model's chat template"),
    ],
)
def test_a_chat_template_that_fails_is_one_sentence(
    tmp_path: Path, template: str, message: str
) -> None:
    scorer = loaded(save_small_llama(tmp_path, chat_template=template))
    with pytest.raises(HedgerowError, match=message):
        scorer.chosen(["a"], 2)


def test_a_loading_error_gives_one_sentence(plain: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    cut = Path(shutil.copytree(plain, tmp_path / "cut"))
    weights = load_file(cut / "model.safetensors")
    del weights["model.norm.weight"]
    save_file(weights, cut / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(HedgerowError, match=r"Expected all weights .*model\.norm\.weight"):
        load_scorer(str(cut))
    pickled = Path(shutil.copytree(plain, tmp_path / "pickled"))
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    with pytest.raises(HedgerowError, match=r"Expected model weights as \*.safetensors"):
        load_scorer(str(pickled))
    larger = Path(shutil.copytree(plain, tmp_path / "larger"))
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(larger)
    tokenizer.add_tokens(["<one>", "<two>"])
    tokenizer.save_pretrained(larger)
    with pytest.raises(HedgerowError, match="Expected a tokenizer of at most .* tokens"):
        load_scorer(str(larger))


def test_code_in_a_model_folder_is_not_run(plain: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(plain, tmp_path / "remote"))
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "mine", "auto_map": {"AutoModelForCausalLM": "mine.Mine"}}
    config["auto_map"]["AutoConfig"] = "mine.MineConfig"
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(HedgerowError, match="Could not load the model in"):
        load_scorer(str(folder))
    assert not (tmp_path / "ran").exists()


def test_weights_that_are_not_numbers_give_one_sentence(plain: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = Path(shutil.copytree(plain, tmp_path / "nan"))
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"].fill_(math.nan)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(HedgerowError, match="scores are not finite numbers"):
        loaded(folder).chosen(["a"], 2)


def test_the_chat_template_is_part_of_what_a_model_is(small_llama: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(small_llama, tmp_path / "model"))
    before = fingerprint(folder)
    (template,) = folder.glob("*.jinja")
    template.write_text("Say: {{ messages[0]['content'] }}")
    assert fingerprint(folder) != before
