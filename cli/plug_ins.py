"""Plug-ins from other packages."""

from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from training.plug_ins import list_plug_ins

NONE = "No plug-ins are installed. docs/plug_ins.md shows how to write one."


def plug_ins(as_json: AsJson = False) -> None:
    """List the plug-ins of installed packages, with any problems."""
    found = list_plug_ins()
    result = {"plug_ins": [one._asdict() for one in found]}
    if not found:
        show(result, as_json, NONE)
        return
    rows = [
        [one.name, one.kind, one.package, one.version, "no" if one.problem else "yes"]
        for one in found
    ]
    table = table_of("plug-in", "kind", "package", "version", "usable", rows=rows)
    show(result, as_json, table, *(one.problem for one in found if one.problem))
