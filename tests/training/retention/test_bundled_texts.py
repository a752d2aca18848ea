"""All bundled retention texts, one by one."""

from collections import Counter

from training.retention.bundled_texts import bundled_texts
from training.retention.documents import documents
from training.retention.topics import OF_A_TOPIC, topics


def test_every_text_of_every_topic_and_document_is_listed_with_its_kind() -> None:
    kinds = Counter(entry.kind for entry in bundled_texts())
    assert kinds["sentence"] == len(topics())
    assert kinds["sentence"] + kinds["paraphrase"] + kinds["other sentence"] == (
        OF_A_TOPIC * len(topics())
    )
    assert all(kinds[kind] == len(documents()) for kind in ("title", "passage", "query", "need"))
    assert kinds["question"] == 2 * len(documents())
    assert bundled_texts()[0] == ("Topic 1", "sentence", topics()[0].same[0])
    assert bundled_texts()[-1] == (
        f"Document {len(documents())}",
        "need",
        documents()[-1].need,
    )
