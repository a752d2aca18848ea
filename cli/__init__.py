"""The command line: the steps of the pages, for the terminal and for scripts.

Every command prints tables for people or, with ``--json``, one JSON object. Errors are one
sentence on standard error: exit code 1, or 2 for wrong usage.
"""

import typer

from cli import (
    anchor_changes,
    anchors,
    browser,
    generate,
    judge,
    project,
    release,
    review,
    runs,
    settings,
)
from cli.terminal import Commands

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,  # its tracebacks print local variables, keys included
    help="Review negation and hedging variants, and finetune an encoder that understands 'not'. "
    "HEDGEROW_HOME names the working directory (otherwise the current one).",
)
# The order of the help.
app.command()(project.init)
app.command()(project.status)
app.command("run")(runs.carry_out)
app.command()(generate.generate)
app.command()(runs.diagnose)
app.command("export")(release.export_release)
app.command("train")(runs.train_encoder)
app.command()(runs.similarity)
app.command("app")(browser.open_app)
anchors.anchors_app.command("list")(anchor_changes.list_anchors)
anchors.anchors_app.command()(anchor_changes.correct)
anchors.anchors_app.command()(anchor_changes.retire)
anchors.anchors_app.command()(anchor_changes.restore)
review.review_app.command()(judge.judge)
review.review_app.command("agreement")(judge.show_agreement)
app.add_typer(anchors.anchors_app, name="anchors")
app.add_typer(generate.prompts_app, name="prompts")
app.add_typer(review.review_app, name="review")
app.add_typer(release.release_app, name="release")
app.add_typer(settings.settings_app, name="settings")


def main() -> None:
    """Run the command line."""
    app()
