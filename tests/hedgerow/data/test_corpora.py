"""Loading corpora in Python."""

from pathlib import Path
from typing import Any

import pytest

import hedgerow
from curation.corpora.corpus import Corpus
from curation.diagnostics import measuring


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> hedgerow.Project:
    """An empty project. Every corpus has ten families, and no process is started."""
    read = Corpus.families

    def first(one: Corpus) -> list[dict[str, Any]]:
        return read(one)[:10]

    monkeypatch.setattr(Corpus, "families", first)
    monkeypatch.setattr(measuring, "start_process", lambda *_: None)
    return hedgerow.open(tmp_path / "project")


def test_one_undo_reverses_everything_a_rule_accepted(project: hedgerow.Project) -> None:
    loaded = project.load_corpus("antonyms")
    assert (loaded["anchors"], loaded["accepted"]) == (10, 0)
    assert set(project.variants()["status"]) == {"pending"}
    again = project.load_corpus("antonyms", accept_unflagged=True, reviewer="Ada")
    assert again["anchors"] == 0 and again["accepted"] > 0
    assert len(project.variants(status="accepted")) == again["accepted"]
    project.undo(reviewer="Ada")
    assert set(project.variants()["status"]) == {"pending"}
    here = project.corpora().set_index("corpus")["anchors"]
    assert here["antonyms"] == 10 and here.sum() == 10


def test_loading_errors_are_reported(project: hedgerow.Project) -> None:
    with pytest.raises(hedgerow.HedgerowError, match=r"Expected a corpus \(starter.*found 'x'"):
        project.load_corpus("x")
    with pytest.raises(hedgerow.HedgerowError, match="reviewer's name, found none"):
        project.load_corpus("claims", accept_unflagged=True)
    assert len(project.anchors()) == 0 and project.status()["runs"] == []
