"""Anchors: adding the user's own."""

import typer

anchors_app = typer.Typer(no_args_is_help=True, help="Add anchors of your own and look after them.")
