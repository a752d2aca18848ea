"""The work of ``hedgerow app`` while the browser loads: open the project, start measuring."""

import os

from sqlalchemy import Engine

from cli.options import open_home
from curation.diagnostics import cosines, measuring, queue_order
from curation.project.settings import active_encoder_id
from db.engine import reading, writing
from db.errors import HedgerowError
from db.run_process import start_process
from db.runs import ensure_run, request_cancel
from db.settings import Settings
from hedgerow.progress import err, text_of


def open_for_app() -> int | None:
    """Open the project for this process's pages, and start measuring unmeasured variants.

    Returns:
        The measuring run, if there is anything to measure and no other run is doing so.

    Raises:
        HedgerowError: the project cannot be opened.
    """
    settings, engine = open_home(create=True)
    # In this order, so that a page that reads its settings meanwhile finds the same in either
    # place.
    os.environ.update(settings.process_environment())
    os.chdir(settings.home)
    run_id = _start_missing_measures(settings, engine)
    engine.dispose()
    return run_id


def _start_missing_measures(settings: Settings, engine: Engine) -> int | None:
    """Measure variants in the background, unless a run already does; return the run's number."""
    with reading(engine) as session:
        encoder_id = active_encoder_id(session)
        missing = measuring.count_without_measures(session)
        missing += cosines.count_without_cosine(session, encoder_id)
        missing += queue_order.count_to_reorder(session)
    if not missing:
        return None
    with writing(engine) as session:
        run, is_new = ensure_run(session, kind=measuring.KIND, parameters={})
    if not is_new:
        return None
    try:
        start_process(settings, run)
    except HedgerowError as error:  # people can review anyway
        with writing(engine) as session:
            request_cancel(session, run.id)
        err.print(text_of(str(error)), soft_wrap=True)
        return None
    return run.id
