"""Export runs (kind ``export``), which write a release to a folder and a ZIP file."""

from curation.release.export import release_folder
from curation.release.freezing import get_release
from db.engine import reading
from db.execution import Result, RunContext
from training.benchmarks.contamination import compare

KIND = "export"


def work(context: RunContext) -> Result:
    """Export a release. Parameters and result are those of `export_run.work`.

    The data card reports overlap with benchmarks, so the release is compared with them first.
    """
    with reading(context.engine) as session:
        release = get_release(session, context.parameters.get("release"))
        compare(session, context.settings.data_folder, release, report=context.update)
    return release_folder.work(context)
