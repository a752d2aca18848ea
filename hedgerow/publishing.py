"""Publishing a model or a release on the Hugging Face Hub."""

from __future__ import annotations

from db.engine import writing
from hedgerow.home import Home, asked_by
from training.hub.publishing import require_token
from training.hub.push_run import Subject, request_push


def store_push(home: Home, subject: Subject, repo: str, *, private: bool) -> int:
    """Store a run that publishes a model or a release, and return its number.

    Raises:
        HedgerowError: the run or release is unknown, the run has no model, the name of the
            repository is invalid, or there is no access token. Nothing is stored in these cases.
    """
    with writing(home.engine) as session:
        author = asked_by(session, home.settings)
        run = request_push(session, subject, repo=repo, private=private, requested_by=author)
        require_token()
        return run.id
