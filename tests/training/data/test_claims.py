"""The statements that ship, affirmed, weakened and contradicted."""

import pytest

from curation.language.negators import find_negators
from curation.language.tokens import analyse
from training.data.claims import stances


def test_every_statement_has_two_sentences_for_each_stance() -> None:
    assert len(stances()) > 6800
    for stance in stances():
        texts = [
            stance.statement,
            *stance.affirmed,
            *stance.weakened,
            *stance.contradicted,
        ]
        assert len(set(texts)) == 7, stance
        for text in texts:
            assert text == text.strip() and 1 < len(text.split()) <= 50, text
            assert "|" not in text and "<" not in text
    assert len({stance.statement for stance in stances()}) == len(stances())


def test_one_contradiction_has_a_negator_and_the_statement_and_the_other_have_none() -> None:
    for stance in stances():
        denied, opposite = stance.contradicted
        assert find_negators(analyse(denied)), denied
        assert not find_negators(analyse(opposite)), opposite
        assert not find_negators(analyse(stance.statement)), stance.statement


@pytest.mark.slow
def test_many_sentences_have_a_negator_that_leaves_the_statement_standing() -> None:
    for kind in ("affirmed", "weakened"):
        texts = [text for stance in stances() for text in getattr(stance, kind)]
        negated = sum(bool(find_negators(analyse(text))) for text in texts)
        assert 0.15 < negated / len(texts) < 0.6, kind
