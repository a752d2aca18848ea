"""Models have unique short names."""

from __future__ import annotations

import pytest

from training.models.display_names import choice_names, short_name, short_names


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("all-MiniLM-L6-v2", "all-MiniLM-L6-v2"),
        ("sentence-transformers/all-mpnet-base-v2", "all-mpnet-base-v2"),
        ("/a/very/long/path/to/model/", "model"),
        ("run 9: /models/small, release 1", "run 9"),
        ("run 9 at 0.25: /models/small, release 1", "run 9 at 0.25"),
        ("/home/hedgerow_data/runs/00009-finetune-llm/model", "run 9"),
        ("/home/hedgerow_data/runs/00009-finetune-llm/merged", "run 9, merged"),
        ("facebook/dpr-question+facebook/dpr-context", "dpr-question+dpr-context"),
        ("random scores", "random scores"),
        ("/", "/"),
        ("", ""),
    ],
)
def test_a_name_is_shortened(name: str, short: str) -> None:
    assert short_name(name) == short


def test_models_that_would_share_a_short_name_keep_their_full_names() -> None:
    assert short_names(["/a/small", "/b/small", "/c/large"]) == {
        "/a/small": "/a/small",
        "/b/small": "/b/small",
        "/c/large": "large",
    }


def test_a_menu_also_shows_the_base_and_the_data_of_a_trained_model() -> None:
    names = ["run 9: /models/small, release 1", "/models/small"]
    assert choice_names(names) == {names[0]: "run 9: small, release 1", names[1]: "small"}
