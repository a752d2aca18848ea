"""What other packages add."""

from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from training.plug_ins import list_plug_ins

NONE = "No package adds anything to Hedgerow here; docs/plug_ins.md shows how to write one."


def plug_ins(as_json: AsJson = False) -> None:
    """List what installed packages add, and what is wrong with it."""
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
