"""The requests of actions, and the options and keywords of their faces."""

import importlib
import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

import cli
import hedgerow
from curation.actions import Request
from curation.importing.anchors import AddAnchors
from curation.importing.variants import ImportVariants
from curation.release.creating import CreateRelease
from hedgerow import Project
from hedgerow.anchors import Anchors
from hedgerow.variants import Variants
from training.encoder_run.requesting import Train
from training.llm.request import FinetuneLanguageModel
from training.studies.study_run import RunStudy

GUIDE = Path(cli.__file__).parents[1] / "CONTRIBUTING.md"

FACES: list[tuple[type[Request], str, Any]] = [
    (AddAnchors, "anchors add", Anchors.add),
    (ImportVariants, "variants add", Variants.add),
    (CreateRelease, "release create", Project.release),
    (Train, "train", Project.train),
    (RunStudy, "study", Project.study),
    (FinetuneLanguageModel, "llm train", Project.finetune_language_model),
]


@pytest.mark.parametrize(("request_", "command", "method"), FACES)
def test_faces_have_every_field_of_the_request(
    request_: type[Request], command: str, method: Any
) -> None:
    found = typer.main.get_command(cli.app)
    for name in command.split():
        found = found.get_command(typer.Context(found), name)  # type: ignore[attr-defined]
    options = {option.name: option for option in found.params}
    keywords = inspect.signature(method).parameters
    for name, field in request_.model_fields.items():
        default = field.get_default(call_default_factory=True)
        assert options[name].help == field.description
        assert keywords[name].default in (None, default, inspect.Parameter.empty)


IMPORTS = """\
from pydantic import Field

from cli.options import open_home, takes
from cli.terminal import AsJson, show
from curation.anchors.lookup import AnchorFilter, find_anchors
from curation.actions import Action, OpenProject, Request
from db.engine import writing
from hedgerow.home import acting

"""
FIELD = '''
    genre: str = "news"
    """Only mark anchors of this genre."""
'''


def test_the_example_of_the_guide_works_and_a_new_field_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    section = GUIDE.read_text("utf-8").partition("## Add an action")[2].partition("\n## ")[0]
    example = "\n\n".join(re.findall(r"```python\n(.*?)```", section, re.DOTALL))
    at = example.index("    limit: int")
    (tmp_path / "marking.py").write_text(
        IMPORTS + example[:at] + FIELD.lstrip("\n") + "\n" + example[at:]
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("HEDGEROW_HOME", str(tmp_path))
    hedgerow.open().anchors.add(["The lamp is bright.", "The bridge is safe."])
    app = typer.Typer(rich_markup_mode=None)
    app.command()(importlib.import_module("marking").anchors_mark)

    def run(*options: str) -> Result:
        return CliRunner().invoke(app, options)

    assert json.loads(run("--json").output) == {"marked": 2}
    assert json.loads(run("--search", "lamp", "--json").output) == {"marked": 1}
    assert json.loads(run("--limit", "1", "--json").output) == {"marked": 1}
    assert run("--limit", "0").exit_code == 2
    assert "Only mark anchors of this genre. [default: news]" in " ".join(
        run("--help").output.split()
    )
