"""Build the site: collect the sources of all pages in one folder, and run Sphinx on it.

Every warning is an error. A broken link, a missing picture or a code block in another language than
stated ends the build.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from docs.site.command_page import command_page
from docs.site.python_page import python_page
from docs.site.settings_page import settings_page
from docs.site.sources import DOCS, ROOT, collect

FOLDER = Path("build", "docs")
"""The default place for the site, relative to the repository; git ignores it."""


class MadePage(NamedTuple):
    """A page that each build generates from the code.

    Attributes:
        entry: the page's line in the index.
    """

    file: str
    entry: str
    make: Callable[[], str]


MADE_PAGES = (
    MadePage("commands.md", "[Commands](commands.md): every command with its help.", command_page),
    MadePage("settings.md", "[Settings](settings.md): every environment variable.", settings_page),
    MadePage(
        "python_reference.rst",
        "[Python reference](python_reference.rst): every function and class.",
        python_page,
    ),
)


def build(folder: Path) -> Path:
    """Build the whole site.

    Args:
        folder: where the folders ``source``, ``html`` and ``doctrees`` are created or replaced.

    Returns:
        The path of the index page.

    Raises:
        SystemExit: Sphinx reported a warning or an error, which is printed.
    """
    source, html, doctrees = (folder / name for name in ("source", "html", "doctrees"))
    for old in (source, html, doctrees):
        shutil.rmtree(old, ignore_errors=True)
    collect(source, [f"- {page.entry}" for page in MADE_PAGES])
    for page in MADE_PAGES:
        (source / page.file).write_text(page.make(), encoding="utf-8")
    for name in ("images", "examples"):
        shutil.copytree(DOCS / name, source / name)
    done = sphinx(source, html, doctrees)
    if done.returncode:
        sys.stderr.write(done.stderr)
        sys.exit(done.returncode)
    return html / "index.html"


def sphinx(source: Path, html: Path, doctrees: Path) -> subprocess.CompletedProcess[str]:
    """Run Sphinx on the collected sources."""
    # -W turns warnings into errors, --keep-going shows all of them, and -n checks every reference.
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", "--keep-going", "-n"]
    command += ["-c", str(DOCS / "site"), "-d", str(doctrees), str(source), str(html)]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path}
    return subprocess.run(command, check=False, env=environment, stderr=subprocess.PIPE, text=True)
