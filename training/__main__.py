"""`torchrun --nproc-per-node 2 -m training ID`: one stored training on several processes.

The first process does what `hedgerow run ID` would do. The others only compute. `hedgerow train
--queue` stores a run without starting it.
"""

import sys
from functools import partial

from curation.overview.project_settings import open_project
from db.errors import HedgerowError
from db.execution import execute
from db.settings import load_settings
from training.encoder_run import training_run
from training.finetune.compute.devices import share_the_processor
from training.finetune.compute.processes import agreed, joined
from training.recipe.training_data import KIND


def main() -> int:
    """Carry out the run whose number is the only argument; the exit status."""
    words = sys.argv[1:]
    if len(words) != 1 or not words[0].isdecimal():
        sys.stderr.write("Expected the number of a stored training: -m training ID.\n")
        return 2
    share_the_processor()
    try:
        take_part_in(int(words[0]))
    except HedgerowError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def take_part_in(run_id: int) -> None:
    """Lead the training, or help once the leading process has prepared it.

    Only the leading one brings the database up to date, and clears the run's folder.
    """
    with joined() as group:
        settings = load_settings()
        if group.leads:
            work = partial(training_run.work, group=group)
            result = execute(open_project(settings, create=False), settings, run_id, {KIND: work})
            sys.stdout.write(f"The model is in {settings.data_folder / result['model']}.\n")
        else:
            agreed(run_id, group)
            training_run.help_with(open_project(settings, create=False), settings, run_id, group)


if __name__ == "__main__":
    sys.exit(main())
