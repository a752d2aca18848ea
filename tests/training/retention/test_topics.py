"""The sentences that ship for distillation."""

from training.retention.topics import OF_A_MATTER, matters


def test_every_matter_has_four_different_sentences_that_no_other_has() -> None:
    assert len(matters()) > 2100
    for matter in matters():
        assert len(set(matter.texts)) == len(matter.texts) == OF_A_MATTER, matter
        assert len(matter.same) in (2, 3)
        for text in matter.texts:
            assert text == text.strip() and 1 < len(text.split()) <= 70, text
            assert "|" not in text and "<" not in text
    texts = [text for matter in matters() for text in matter.texts]
    assert len(set(texts)) == len(texts)
