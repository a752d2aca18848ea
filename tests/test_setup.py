"""Installing and starting: the lock file, the Makefile's promises, Streamlit's settings; and the
wheel, which is complete without a checkout."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import distribution, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.checkout import ROOT
from tests.support.colours import AA_GRAPHICS, AA_TEXT, contrast

STREAMLIT = tomllib.loads((ROOT / "cli" / "streamlit.toml").read_text(encoding="utf-8"))
FADED = 0.6  # opacity of Streamlit's captions


def locked() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line.split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): number for name, number in pins}


def reached(requirement: Requirement) -> set[str]:
    """Every distribution that the requirement installs on this machine."""
    found: set[tuple[str, str]] = set()
    waiting = [(requirement.name, extra) for extra in ("", *requirement.extras)]
    while waiting:
        name, extra = waiting.pop()
        if (canonicalize_name(name), extra) in found:
            continue
        found.add((canonicalize_name(name), extra))
        for text in distribution(name).requires or []:
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                waiting += [(needed.name, e) for e in ("", *needed.extras)]
    return {name for name, _ in found}


@pytest.mark.slow
def test_the_lock_names_what_is_installed_and_nothing_else() -> None:
    needed = reached(Requirement("hedgerow[test]")) - {"hedgerow"}
    lock = locked()
    assert needed - lock.keys() == set(), "run `make lock`"
    assert lock.keys() - needed - {"setuptools"} == set()
    installed = {name: version(name).partition("+")[0] for name in needed}
    assert installed == {name: lock[name] for name in needed}


def test_the_lock_suits_every_machine() -> None:
    for name, number in locked().items():
        assert re.fullmatch(r"[0-9a-z.]+", number), f"{name}=={number} names a local build"
        assert not name.startswith("nvidia"), "CUDA packages belong to one build of torch"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that `make` reads, and an interpreter that records the arguments of its pip."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    fake = folder / "fakepython"
    fake.write_text(
        "#!/bin/sh\n"
        'case "$1 $2 $3" in\n'
        f'  "-c "*) exec {sys.executable} "$@" ;;\n'
        '  "-m venv --clear") rm -rf "$4"; mkdir -p "$4/bin"; cp "$0" "$4/bin/python" ;;\n'
        f'  "-m pip "*) echo "$@" >> {folder}/pip.log ;;\n'
        "  *) exit 64 ;;\n"
        "esac\n"
    )
    fake.chmod(0o755)
    return folder


def make(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # Without the variables that an outer `make test` passes on.
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")}
    return subprocess.run(
        ["make", *arguments], cwd=checkout, env=environment, capture_output=True, text=True
    )


def pip_calls(checkout: Path) -> list[str]:
    log = checkout / "pip.log"
    return log.read_text().splitlines() if log.exists() else []


def age(file: Path, seconds: float) -> None:
    """Move the file's time into the past, or for a negative number into the future."""
    time = file.stat().st_mtime - seconds
    os.utime(file, (time, time))


def test_make_setup_installs_the_locked_versions_once(checkout: Path) -> None:
    for name in ("pyproject.toml", "constraints.txt"):
        age(checkout / name, 10)
    for _ in range(3):
        done = make(checkout, "setup", "PYTHON=./fakepython")
        assert done.returncode == 0, done.stderr
    calls = pip_calls(checkout)
    assert len(calls) == 1
    assert calls[0].endswith("install -c constraints.txt -e .")


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_make_setup_installs_again_after_a_change_of_versions(checkout: Path, name: str) -> None:
    make(checkout, "setup", "PYTHON=./fakepython")
    age(checkout / name, -10)
    make(checkout, "setup", "PYTHON=./fakepython")
    assert len(pip_calls(checkout)) == 2


def test_the_test_tools_are_added_to_the_same_environment(checkout: Path) -> None:
    for name in ("pyproject.toml", "constraints.txt"):
        age(checkout / name, 10)
    make(checkout, "setup-test", "PYTHON=./fakepython")
    make(checkout, "setup", "setup-test", "PYTHON=./fakepython")
    calls = pip_calls(checkout)
    assert len(calls) == 1
    assert calls[0].endswith("install -c constraints.txt -e .[test]")


def test_an_installation_that_broke_off_is_taken_up_again(checkout: Path) -> None:
    fake = checkout / "fakepython"
    working = fake.read_text()
    fake.write_text(working.replace("/pip.log ;;\n", "/pip.log; exit 1 ;;\n"))
    assert make(checkout, "setup", "PYTHON=./fakepython").returncode != 0
    (checkout / ".venv" / "bin" / "python").write_text(working)
    assert make(checkout, "setup", "PYTHON=./fakepython").returncode == 0
    assert len(pip_calls(checkout)) == 2


@pytest.mark.parametrize("kind", ["missing", "too old"])
def test_without_a_fitting_python_one_sentence_says_what_to_do(checkout: Path, kind: str) -> None:
    python = checkout / "python3"
    if kind == "too old":
        python.write_text("#!/bin/sh\nexit 1\n")
        python.chmod(0o755)
    done = make(checkout, "setup", f"PYTHON={python}")
    assert done.returncode != 0
    assert done.stderr.startswith("Hedgerow needs Python 3.11 or newer")
    assert "PYTHON=" in done.stderr.splitlines()[0]
    assert pip_calls(checkout) == []


def test_without_hedgerow_app_streamlit_finds_the_same_options() -> None:
    next_to_the_script = ROOT / ".streamlit" / "config.toml"
    assert next_to_the_script.resolve() == ROOT / "cli" / "streamlit.toml"
    assert STREAMLIT["server"]["address"] == "127.0.0.1"
    assert set(STREAMLIT["server"]["allowedHosts"]) == {"127.0.0.1", "localhost"}


@pytest.mark.slow
def test_streamlit_knows_every_option_of_the_app_by_its_variable() -> None:
    from streamlit.config import get_config_options

    from cli.serve import _streamlit_options

    known = {option.env_var for option in get_config_options().values()}
    found = _streamlit_options("127.0.0.1")
    assert found.keys() <= known
    assert found["STREAMLIT_SERVER_ALLOWED_HOSTS"] == "127.0.0.1 localhost"
    assert found["STREAMLIT_CLIENT_SHOW_ERROR_DETAILS"] == "stacktrace"
    assert found["STREAMLIT_BROWSER_GATHER_USAGE_STATS"] == "false"


def areas(scheme: str) -> list[Mapping[str, str]]:
    """The colours of the main area and of the sidebar, which inherits missing ones."""
    main = STREAMLIT["theme"][scheme]
    return [main, main | main["sidebar"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_links_are_readable(scheme: str) -> None:
    for area in areas(scheme):
        for ground in (area["backgroundColor"], area["secondaryBackgroundColor"]):
            assert contrast(area["textColor"], ground) >= AA_TEXT
            assert contrast(area["linkColor"], ground) >= AA_TEXT
        assert contrast(area["textColor"], area["backgroundColor"], opacity=FADED) >= AA_TEXT
        # Streamlit writes white on the primary colour in both schemes.
        assert contrast("#ffffff", area["primaryColor"]) >= AA_TEXT


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_controls_and_charts_have_contrast(scheme: str) -> None:
    for area in areas(scheme):
        assert contrast(area["primaryColor"], area["backgroundColor"]) >= AA_GRAPHICS
    main = STREAMLIT["theme"][scheme]
    for colour in main["chartCategoricalColors"]:
        assert contrast(colour, main["backgroundColor"]) >= AA_GRAPHICS


PACKAGES = ("app.py", "http_app.py", "cli", "curation", "db", "hedgerow", "pages", "training")


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


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_checkout_and_no_other(
    wheel: Path, files: list[str]
) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert packed == set(files)


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.soak("wheel")
def test_an_installed_wheel_is_the_same_app(hedgerow: Path, elsewhere: Path, app: str) -> None:
    from tests.support.page_session import first_page

    status = ask(hedgerow, "status", cwd=elsewhere)
    assert isinstance(status["anchors"], int) and status["anchors"] > 100
    opened = first_page(app)
    assert opened.headings[0] == "Overview" and not opened.errors
    theme, settings = opened.session.custom_theme, opened.session.config
    assert theme.light.primary_color == STREAMLIT["theme"]["light"]["primaryColor"]
    assert list(theme.heading_font_sizes) == STREAMLIT["theme"]["headingFontSizes"]
    assert list(theme.heading_font_weights) == STREAMLIT["theme"]["headingFontWeights"]
    colours = STREAMLIT["theme"]["dark"]["chartCategoricalColors"]
    assert list(theme.dark.chart_categorical_colors) == colours
    assert settings.toolbar_mode == settings.ToolbarMode.MINIMAL
    assert settings.show_error_links == settings.ShowErrorLinks.SHOW_ERROR_LINKS_FALSE
    assert settings.disable_data_export and not settings.gather_usage_stats
