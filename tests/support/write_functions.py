"""The functions of the library that write to the database, found in its sources.

A function writes if it adds rows, executes an INSERT, UPDATE or DELETE, opens a writing session, or
calls a function that writes.
"""

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple
from unittest.mock import MagicMock

from tests.support.checkout import ROOT

_STATEMENTS = {"insert", "update", "delete", "insert_new", "writing"}
_OF_SESSIONS = {"add", "add_all", "merge", "delete", "flush"}

Name = tuple[str, str]
"""A module and a function in it."""


class WriteFunction(NamedTuple):
    """A public function that receives a session or an engine, and writes with it."""

    module: str
    name: str
    takes: str

    def get(self) -> Any:
        return getattr(import_module(self.module), self.name)


def write_functions(*packages: str) -> list[WriteFunction]:
    """All functions of these packages."""
    found = {name: node for package in packages for name, node in _functions(package)}
    calls = {name: _calls(node, name[0], imports) for name, (node, imports) in found.items()}
    writes = {name for name, called in calls.items() if any(one[0] == "" for one in called)}
    while more := {n for n, called in calls.items() if n not in writes and called & writes}:
        writes |= more
    return sorted(
        WriteFunction(module, name, first)
        for module, name in writes
        if not name.startswith("_")
        and (first := _first_argument(found[(module, name)][0])) in ("session", "engine")
    )


def _functions(package: str) -> Iterator[tuple[Name, tuple[ast.FunctionDef, dict[str, Name]]]]:
    for path in (ROOT / package).rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        imports = {
            alias.asname or alias.name: (node.module, alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module
            for alias in node.names
        }
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                yield (module, node.name), (node, imports)


def _calls(function: ast.FunctionDef, module: str, imports: dict[str, Name]) -> set[Name]:
    """The functions that it calls; ('', …) for a function that writes itself."""
    called: set[Name] = set()
    for node in ast.walk(function):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name):
            name = node.func.id
            called.add(("", name) if name in _STATEMENTS else imports.get(name, (module, name)))
        elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            of, name = node.func.value.id, node.func.attr
            if of == "session" and name in _OF_SESSIONS:
                called.add(("", name))
            elif of in imports:
                called.add((".".join(imports[of]), name))
    return called


def _first_argument(function: ast.FunctionDef) -> str:
    return function.args.args[0].arg if function.args.args else ""


def stand_ins(function: Any) -> dict[str, Any]:
    """A value for each argument without a default, except the first."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return {
        one.name: _stand_in(str(one.annotation))
        for one in parameters
        if one.default is one.empty and one.kind is not one.VAR_KEYWORD
    }


def _stand_in(annotation: str) -> Any:
    for kind, value in {"str": "x", "int": 1, "float": 1.0, "bool": True}.items():
        if annotation in (kind, f"<class '{kind}'>"):
            return value
    return MagicMock()
