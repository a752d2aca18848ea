"""A process that decides like an app's server, for several reviewers, until it is killed.

    python -m tests.support.deciding_process REVIEWERS

Each reviewer has a window and a thread. A line on standard output with the decision's action id
confirms that it is stored, as the app does for a reviewer.
"""

import os
import random
import sys
import threading

from sqlalchemy import Engine

from curation.overview.project_settings import open_project
from curation.review.browser_window import key_actions
from curation.review.browser_window.key_actions import ReviewState
from curation.review.drafts import DraftKind
from curation.taxonomy.project_types import list_types
from db.engine import reading, writing
from db.settings import load_settings
from tests.support.factories import person

EMPTY = {"text": ""}


def _review(engine: Engine, name: str, seed: int) -> None:
    with writing(engine) as session:
        reviewer = person(session, name)
    with reading(engine) as session:
        types = list_types(session)
    state = ReviewState(engine=engine, reviewer_id=reviewer, types=types)
    state.recount()
    chance = random.Random(seed)
    while (view := state.view()).focus is not None:
        state.drawn_now()
        shown = state.showings[view.focus.variant.id]
        state.drafts.begin(state.form_id, shown.variant_id, DraftKind.NOTE)
        state.drafts.keep(shown.variant_id, DraftKind.NOTE, {"text": "odd"}, untouched=EMPTY)
        before = state.recent[-1] if state.recent else ""
        what = chance.random()
        if what < 0.5:
            state.accept(shown)
        elif what < 0.8:
            state.reject(shown, "other")
        elif what < 0.95:
            state.edit(shown, text=f"{view.focus.variant.text} {chance.random()}")
        else:
            state.undo()
        if state.recent and state.recent[-1] != before:
            os.write(1, f"{state.recent[-1]}\n".encode())  # at once, in a single write


def main() -> None:
    """Decide until there is nothing left."""
    key_actions.MIN_SHOWN_SECONDS = 0.0
    engine = open_project(load_settings())
    threads = [
        threading.Thread(target=_review, args=(engine, f"Reviewer {number}", os.getpid() + number))
        for number in range(int(sys.argv[1]))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
