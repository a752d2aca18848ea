"""Giving anchors another genre or language."""

from typing import Annotated

import typer

from cli.anchors.named import Uids, ids_of, show_changed
from cli.shared.home import open_home
from cli.shared.terminal import AsJson
from curation.anchors.attributes import set_facts
from db.engine import writing


def describe(
    uids: Uids,
    genre: Annotated[str | None, typer.Option(help="Another genre; '' for none.")] = None,
    language: Annotated[str | None, typer.Option(help="A tag such as 'en' or 'de-CH'.")] = None,
    as_json: AsJson = False,
) -> None:
    """Give anchors another genre or language, all of them or none."""
    _, engine = open_home()
    with writing(engine) as session:
        ids = ids_of(session, uids)
        changed = set(set_facts(session, ids.values(), genre=genre, language=language))
    wanted = {"genre": genre, "language": language}
    given: dict[str, object] = {k: v for k, v in wanted.items() if v is not None}
    show_changed(ids, changed, as_json, "changed", "like that", given)
