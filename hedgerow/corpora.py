"""Listing and loading the corpora that come with Hedgerow."""

from __future__ import annotations

from typing import NamedTuple

from curation.corpora.corpus import CORPORA, corpus
from curation.importing.corpora import KIND, Loaded, load_first, loaded_anchors, parameters
from db.engine import reading, writing
from db.runs import ensure_run
from hedgerow.home import Home, reviewer_id


class CorpusHere(NamedTuple):
    """A corpus, and how much of it is in the project.

    Attributes:
        corpus: the id of the corpus.
        anchors: the number of its anchors in the project.
        of: the number of its anchors.
        licence: its licence.
        about: a description.
    """

    corpus: str
    anchors: int
    of: int
    licence: str
    about: str


def states(home: Home) -> list[CorpusHere]:
    """All corpora, and how much of each is in the project."""
    with reading(home.engine) as session:
        loaded = loaded_anchors(session)
    return [
        CorpusHere(one.id, loaded[one.id], one.anchors, one.licence, one.about)
        for one in CORPORA.values()
    ]


def store_loading(home: Home, name: str, accept_unflagged: bool, reviewer: str) -> int:
    """Store a run that loads a corpus, and return its number.

    See `hedgerow.Project.load_corpus`.
    """
    wanted = corpus(name)
    with writing(home.engine) as session:
        accept_by = reviewer_id(session, home.settings, reviewer) if accept_unflagged else None
        values = parameters(wanted, accept_by=accept_by)
        return ensure_run(session, kind=KIND, parameters=values).run.id


def load_starter(home: Home) -> Loaded:
    """See `hedgerow.Project.load_starter_corpus`."""
    with writing(home.engine) as session:
        return load_first(session)
