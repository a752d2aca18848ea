"""The bundled sentences for distillation."""

from training.retention.topics import OF_A_TOPIC, topics


def test_every_topic_has_four_different_sentences_that_no_other_has() -> None:
    assert len(topics()) > 2100
    for topic in topics():
        assert len(set(topic.texts)) == len(topic.texts) == OF_A_TOPIC, topic
        assert len(topic.same) in (2, 3)
        for text in topic.texts:
            assert text == text.strip() and 1 < len(text.split()) <= 70, text
            assert "|" not in text and "<" not in text
    texts = [text for topic in topics() for text in topic.texts]
    assert len(set(texts)) == len(texts)
