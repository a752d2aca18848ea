"""Questions in tokens, and the likelihood of their answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from curation.release.question_pairs import QuestionPair
from db.models import Split
from tests.support.small_llama import small_tokenizer
from training.llm.examples import Asker


def pair(number: int, answer: str) -> QuestionPair:
    sentence = f"Door {number} is {'very ' * number}open."
    return QuestionPair("a", "v", "verbal", sentence, "It is not open.", answer, Split.TRAIN)


PAIRS = [pair(number, answer) for number in range(20) for answer in ("Yes", "No")]


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

    from training.llm.answers import shares_right

    tokenizer = AutoTokenizer.from_pretrained(small_llama)
    model: Any = AutoModelForCausalLM.from_pretrained(small_llama).eval()
    with torch.no_grad():  # random weights give equal answers
        model.lm_head.weight.mul_(30)
    choices = Asker(tokenizer, chat=True).choices(PAIRS)
    found = shares_right(model, choices, pad=tokenizer.pad_token_id)
    right = []
    for choice in choices:
        with torch.no_grad():
            logits = model(torch.tensor([choice.ids])).logits[0, -1]
        yes, no = (float(logits[token]) for token in choice.first)
        right.append((yes < no) == bool(choice.right))
    assert found["right"] == pytest.approx(sum(right) / len(right))
    assert found["right"] == pytest.approx((found["right:Yes"] + found["right:No"]) / 2)
    checks: list[int] = []
    shares_right(model, choices[:1], pad=0, check=lambda: checks.append(1))
    assert checks == [1]
