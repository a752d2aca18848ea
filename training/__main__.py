"""`torchrun --nproc-per-node 2 -m training ID`: one stored training on several processes.

The first process is the one that `hedgerow run ID` would be; the others only compute. A training
is stored without being begun by `hedgerow train --queue`.
"""

from __future__ import annotations

import os
import sys

from curation.project import open_project
from db.errors import HedgerowError
from db.execution import execute
from db.settings import load_settings
from training import runs
from training.plan import KIND


def main() -> int:
    """Carry out the run whose number is the only argument; the exit status."""
    words = sys.argv[1:]
    if len(words) != 1 or not words[0].isdecimal():
        sys.stderr.write("Expected the number of a stored training: -m training ID.\n")
        return 2
    try:
        settings = load_settings()
        engine = open_project(settings)
        if os.environ.get("RANK", "0") == "0":
            execute(engine, settings, int(words[0]), {KIND: runs.work})
        else:
            runs.help_with(engine, settings, int(words[0]))
    except HedgerowError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
