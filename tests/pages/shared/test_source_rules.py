"""Rules for the code of pages that neither the linter nor the type checker knows."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support.checkout import ROOT

PAGES = sorted((ROOT / "pages").rglob("*.py"))
SHELL = ROOT / "pages/components/shared/shell"
PRIVATE_OF_STREAMLIT = {
    "streamlit.runtime.state.session_state": ["WStates"],
    "streamlit.runtime.scriptrunner": ["get_script_run_ctx"],
    "streamlit.errors": ["StreamlitAuthError"],
    "streamlit.delta_generator": ["DeltaGenerator"],  # for types
}
"""The imports of error_messages.py (see its ``guard_callbacks``) and of current_user.py: whether a
page runs in this thread, and the error for a wrong sign-in configuration."""


def nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text("utf-8")))


def test_every_fragment_and_dialog_is_guarded() -> None:
    """A part of a page uses those of error_messages.py, which show an error in its place."""

    def unguarded(path: Path) -> bool:
        return any(
            isinstance(node, ast.Attribute)
            and node.attr in ("fragment", "dialog")
            and isinstance(node.value, ast.Name)
            and node.value.id == "st"
            for node in nodes(path)
        )

    assert [path for path in PAGES if unguarded(path)] == [SHELL / "error_messages.py"]


def test_a_page_passes_no_session_on() -> None:
    """A page names one function of the library for each question, and builds none of its own. The
    import contract does not see a lambda's session."""

    def has_session(path: Path) -> bool:
        return any(
            (isinstance(node, ast.arg) and node.arg == "session")
            or (isinstance(node, ast.Name) and node.id == "session")
            for node in nodes(path)
        )

    assert len(PAGES) > 100
    assert [path for path in PAGES if has_session(path)] == [SHELL / "open_project.py"]


def test_a_switch_of_pages_names_the_parameters_of_the_url() -> None:
    """Without them, Streamlit refuses to leave a page whose widgets are in the URL; `AppTest` does
    not."""
    calls = [
        (path, {keyword.arg for keyword in node.keywords})
        for path in PAGES
        for node in nodes(path)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "st.switch_page"
    ]
    assert calls and [path for path, named in calls if "query_params" not in named] == []


def test_no_other_private_module_of_streamlit_is_imported() -> None:
    found: dict[str, list[str]] = {}
    packages = ("pages", "cli", "training", "curation", "db")
    ours = [path for name in packages for path in (ROOT / name).rglob("*.py")]
    ours += [ROOT / "app.py", ROOT / "http_app.py"]
    for path in ours:
        for node in nodes(path) if "streamlit" in path.read_text("utf-8") else ():
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("streamlit"):
                found[node.module or ""] = [alias.name for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
                assert not [name for name in names if name.startswith("streamlit.")], path
    assert found == PRIVATE_OF_STREAMLIT
