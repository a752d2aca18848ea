"""Publishing a model or a release on the Hugging Face Hub."""

from __future__ import annotations

from db.engine import writing
from hedgerow.home import Home, asked_by
from training.hub.publishing import require_token
from training.hub.push_run import Subject, request_push


def store_push(home: Home, subject: Subject, repo: str, *, private: bool) -> int:
    """Store a run that publishes a model or a release; its number.

    Raises:
        HedgerowError: no such run or release, a run without a model, a name that the Hub would not
            take, or no access token. Nothing is stored then.
    """
    with writing(home.engine) as session:
        author = asked_by(session, home.settings)
        run = request_push(session, subject, repo=repo, private=private, requested_by=author)
        require_token()
        return run.id
