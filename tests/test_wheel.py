"""The wheel, installed without a checkout, is complete, and its app is the same."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.checkout import ROOT

pytestmark = pytest.mark.slow

PACKAGES = ("app.py", "http_app.py", "cli", "curation", "db", "hedgerow", "pages", "training")
OPTIONS = tomllib.loads((ROOT / "cli" / "streamlit.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def files() -> list[str]:
    """The checkout's files that belong to the program, as listed by git."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *PACKAGES],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    return [name for name in listed if (ROOT / name).exists()]


@pytest.fixture(scope="module")
def wheel(files: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy, so that nothing is left in the checkout."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in [*files, "pyproject.toml", "README.md", "LICENSE"]:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", "dist", ".", cwd=copy)
    (made,) = (copy / "dist").iterdir()
    return made


def pip(*arguments: str, cwd: Path) -> None:
    quiet = ("--disable-pip-version-check", "--no-index", "--quiet")
    done = subprocess.run(
        [sys.executable, "-m", "pip", *arguments, *quiet], cwd=cwd, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def hedgerow(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command in a fresh environment with the other packages, but without access to the
    checkout."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, symlinks=True)
    bin_folder = folder / "bin"
    target = [f"--python={bin_folder / 'python'}", "install", "--no-deps", "--no-compile"]
    pip(*target, str(wheel), cwd=folder)
    # Only now, or pip would take the checkout's installation for this one's. A folder in a .pth
    # file has its own .pth files ignored, including the one that leads to the checkout.
    names = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", vars=names))
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    return bin_folder / "hedgerow"


@pytest.fixture
def elsewhere(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory outside the checkout."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return home


def test_the_wheel_has_every_file_of_the_checkout_and_no_other(
    wheel: Path, files: list[str]
) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert packed == set(files)


def test_the_trained_encoder_is_in_the_wheel_and_small(wheel: Path) -> None:
    weights = "curation/encoders/bundled_adapter/adapter_model.safetensors"
    with zipfile.ZipFile(wheel) as archive:
        assert 0 < archive.getinfo(weights).file_size <= 5_000_000


@pytest.fixture
def app(hedgerow: Path, elsewhere: Path) -> Iterator[str]:
    """The address of the app for a new project with the starter corpus."""
    ask(hedgerow, "init", cwd=elsewhere)
    started = subprocess.Popen(
        [hedgerow, "app", "--json"],
        cwd=elsewhere,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert started.stdout is not None and started.stderr is not None
    try:
        line = started.stdout.readline()
        assert line, started.stderr.read()
        yield json.loads(line)["url"]
    finally:
        started.terminate()
        started.communicate(timeout=20)


def ask(hedgerow: Path, *arguments: str, cwd: Path) -> dict[str, object]:
    done = subprocess.run(
        [hedgerow, *arguments, "--json"], cwd=cwd, capture_output=True, text=True, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


@pytest.mark.soak("wheel")
def test_an_installed_wheel_is_the_same_app(hedgerow: Path, elsewhere: Path, app: str) -> None:
    from tests.support.page_session import first_page

    status = ask(hedgerow, "status", cwd=elsewhere)
    assert isinstance(status["anchors"], int) and status["anchors"] > 100
    opened = first_page(app)
    assert opened.headings[0] == "Overview" and not opened.errors
    theme, settings = opened.session.custom_theme, opened.session.config
    assert theme.light.primary_color == OPTIONS["theme"]["light"]["primaryColor"]
    assert list(theme.heading_font_sizes) == OPTIONS["theme"]["headingFontSizes"]
    assert list(theme.heading_font_weights) == OPTIONS["theme"]["headingFontWeights"]
    colours = OPTIONS["theme"]["dark"]["chartCategoricalColors"]
    assert list(theme.dark.chart_categorical_colors) == colours
    assert settings.toolbar_mode == settings.ToolbarMode.MINIMAL
    assert settings.show_error_links == settings.ShowErrorLinks.SHOW_ERROR_LINKS_FALSE
    assert settings.disable_data_export and not settings.gather_usage_stats
