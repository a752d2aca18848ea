"""Set the genre or language of anchors."""

from typing import Annotated

import typer

from cli.anchors.named import Uids, show_changed
from cli.shared.home import open_home
from cli.shared.terminal import AsJson
from hedgerow.data.anchor_changes import set_facts


def describe(
    uids: Uids,
    genre: Annotated[str | None, typer.Option(help="The new genre; '' for none.")] = None,
    language: Annotated[
        str | None, typer.Option(help="Language tag such as 'en' or 'de-CH'.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Set the genre or language of anchors, all of them or none."""
    done = set_facts(open_home(), uids, genre=genre, language=language)
    wanted = {"genre": genre, "language": language}
    given: dict[str, object] = {k: v for k, v in wanted.items() if v is not None}
    show_changed(done, as_json, "changed", "like that", given)
