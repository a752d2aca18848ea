"""Listing and loading the corpora that come with Hedgerow."""

from __future__ import annotations

from typing import NamedTuple

from curation.corpora.corpus import CORPORA, corpus
from curation.corpora.corpus_run import KIND, loaded_anchors, parameters
from curation.corpora.loading import Loaded, load_first
from db.engine import reading, writing
from db.runs import ensure_run
from hedgerow.home import Home, reviewer_id


class CorpusHere(NamedTuple):
    """A corpus, and the part of it that is in the project.

    Attributes:
        corpus: its id.
        anchors: how many of its anchors are here, ``of`` so many.
    """

    corpus: str
    anchors: int
    of: int
    licence: str
    about: str


def states(home: Home) -> list[CorpusHere]:
    """The part of each corpus that is in the project."""
    with reading(home.engine) as session:
        loaded = loaded_anchors(session)
    return [
        CorpusHere(one.id, loaded[one.id], one.anchors, one.licence, one.about)
        for one in CORPORA.values()
    ]


def store_loading(home: Home, name: str, accept_unflagged: bool, reviewer: str) -> int:
    """Store a run that loads a corpus; its number. See `hedgerow.Project.load_corpus`."""
    wanted = corpus(name)
    with writing(home.engine) as session:
        accept_by = reviewer_id(session, home.settings, reviewer) if accept_unflagged else None
        asked = parameters(wanted, accept_by=accept_by)
        return ensure_run(session, kind=KIND, parameters=asked).run.id


def load_starter(home: Home) -> Loaded:
    """See `hedgerow.Project.load_starter_corpus`."""
    with writing(home.engine) as session:
        return load_first(session)
