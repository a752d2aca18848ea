"""The bundled documents."""

from training.retention.documents import documents


def test_every_document_has_a_title_a_passage_two_questions_and_a_query() -> None:
    assert len(documents()) == 600
    for document in documents():
        assert len(set(document.questions)) == 2, document
        texts = (document.title, document.passage, *document.questions, document.query)
        assert all(text and text == text.strip() and "\n" not in text for text in texts), document


def test_no_title_passage_or_question_occurs_twice() -> None:
    texts = [text for one in documents() for text in (one.title, one.passage, *one.questions)]
    assert len(set(texts)) == len(texts)
