"""The bundled documents."""

from training.retention.documents import documents


def test_each_document_has_a_passage_and_five_queries_of_its_own() -> None:
    found = documents()
    assert len(found) >= 590
    for document in found:
        assert len(set(document.queries)) == 5
        assert document.passage not in document.queries
        assert all(text == text.strip() != "" for text in (document.passage, *document.queries))
    assert len({document.passage for document in found}) == len(found)
