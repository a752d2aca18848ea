"""Answers in tokens, however a tokenizer treats spaces and the end of a prompt."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.small_llama import BEGIN, END, PAD, TEXTS, small_tokenizer
from training.benchmarks.scorers.prompted.answer_tokens import AnswerTokens
from training.benchmarks.scorers.prompted.causal import GRID
from training.benchmarks.scorers.prompted.likelihoods import longest_beginnings

ANSWERS = [f"{number:.1f}" for number in GRID]


def bpe(pre: Any, decoder: Any, **trained: Any) -> Any:
    from tokenizers import Tokenizer, models, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    if pre is not None:
        tokenizer.pre_tokenizer = pre
    tokenizer.decoder = decoder
    letters = sorted(set("".join(TEXTS)) | set("▁0123456789-."))
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=[PAD, BEGIN, END],
        initial_alphabet=letters,
        show_progress=False,
        **trained,
    )
    tokenizer.train_from_iterator(list(TEXTS) * 2, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=PAD, bos_token=BEGIN, eos_token=END
    )


def tokenizers() -> dict[str, Any]:
    from tokenizers import decoders, pre_tokenizers

    space = pre_tokenizers.Metaspace(prepend_scheme="always")
    return {
        "byte-level, as Llama 3": small_tokenizer(chat_template=None),
        "spaces before words, as Llama 2": bpe(space, decoders.Metaspace()),
        "tokens across words": bpe(None, decoders.Fuse()),
    }


KNOWN = tokenizers()


def asked(tokenizer: Any, longest: int | None = None) -> AnswerTokens:
    class Model:
        config = SimpleNamespace(max_position_embeddings=longest)

        @staticmethod
        def get_input_embeddings() -> Any:
            return SimpleNamespace(weight=SimpleNamespace(shape=(10_000, 8)))

    return AnswerTokens(tokenizer, Model())


@pytest.mark.parametrize("kind", KNOWN)
@pytest.mark.parametrize("answers", [["1", "2"], ["1", "2", "3"], ANSWERS])
def test_prompt_and_answer_together_are_the_text(kind: str, answers: list[str]) -> None:
    tokenizer = KNOWN[kind]
    prompt = "Which document is more relevant to the query? Please choose 1 or 2. Answer:"
    (one,) = asked(tokenizer).asked([prompt], answers)
    assert one.ids is not None
    for answer, ways in zip(answers, one.answers.ways, strict=True):
        texts = {
            tokenizer.decode([*one.ids, *one.answers.spelled[way]], skip_special_tokens=True)
            for way in ways
        }
        assert texts == {f"{prompt}{answer}", f"{prompt} {answer}"}


@pytest.mark.parametrize("kind", KNOWN)
def test_no_answer_is_the_beginning_of_another(kind: str) -> None:
    (one,) = asked(KNOWN[kind]).asked(["Score:"], ANSWERS)
    spelled = one.answers.spelled
    assert len(set(spelled)) == len(spelled)
    for ids in spelled:
        assert not any(other != ids and other[: len(ids)] == ids for other in spelled)


def test_a_token_across_the_end_of_the_prompt_belongs_to_the_answers() -> None:
    tokenizer = KNOWN["tokens across words"]
    prompt = "choose 1 or 2. Answer:"
    (one,) = asked(tokenizer).asked([prompt], ["1", "2"])
    assert one.answers.cut > 0 and one.ids is not None
    assert prompt.startswith(tokenizer.decode(list(one.ids)))


def test_white_space_after_a_plain_prompt_does_not_count() -> None:
    tokens = asked(KNOWN["byte-level, as Llama 3"])
    first, second = tokens.asked(["Answer:", "Answer: \n"], ["1", "2"])
    assert first == second


def test_a_prompt_is_as_long_as_the_model_reads_with_its_answer() -> None:
    tokenizer = KNOWN["byte-level, as Llama 3"]
    (one,) = asked(tokenizer).asked(["Answer:"], ["1", "2"])
    assert one.ids is not None
    most = len(one.ids) + max(map(len, one.answers.spelled))
    assert asked(tokenizer, most).asked(["Answer:"], ["1", "2"])[0].ids == one.ids
    assert asked(tokenizer, most - 1).asked(["Answer:"], ["1", "2"])[0].ids is None


@given(st.sets(st.lists(st.integers(0, 2), min_size=1, max_size=4).map(tuple), min_size=1))
def test_the_tokens_after_a_prompt_predict_every_answer(answers: set[tuple[int, ...]]) -> None:
    paths = longest_beginnings(sorted(answers))
    for ids in answers:
        assert len(ids) == 1 or any(path[: len(ids) - 1] == ids[:-1] for path in paths)
    for path in paths:
        assert any(ids[:-1] == path for ids in answers), "nothing is read unnecessarily"
