"""The bundled retention texts on the Train page."""

from __future__ import annotations

from sqlalchemy import Engine

from tests.pages.conftest import unsafe_texts
from tests.pages.train.support.states import page, page_text
from training.retention.bundled_texts import bundled_texts
from training.retention.documents import documents


def test_they_are_listed_as_plain_texts_once_the_expander_is_open(project: Engine) -> None:
    test = page()
    assert "Retention texts" in [box.label for box in test.expander]
    assert not test.dataframe
    test.session_state["train-bundled-texts"] = True
    test.run()
    assert not test.exception
    assert "These texts teach nothing about negation" in page_text(test)
    assert f"Hedgerow comes with {len(bundled_texts()):,} English texts" in page_text(test)
    table = next(frame.value for frame in test.dataframe if "Group" in frame.value)
    assert list(table.itertuples(index=False, name=None)) == list(bundled_texts())
    assert documents()[0].passage not in unsafe_texts(test)
    assert [button.label for button in test.get("download_button")].count("CSV") == 1
