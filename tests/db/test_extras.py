"""What needs a package of an extra says how to install it."""

import tomllib
from pathlib import Path

import pytest

import db
from db import extras
from db.errors import HedgerowError


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    extras.require_package("psycopg", by="Projects in PostgreSQL")
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(HedgerowError, match=r"pip install 'hedgerow\[postgres\]'"):
        extras.require_package("psycopg", by="Projects in PostgreSQL")


def test_the_extras_bring_these_packages() -> None:
    declared = tomllib.loads((Path(db.__file__).parents[1] / "pyproject.toml").read_text())
    brought = declared["project"]["optional-dependencies"]
    for package, extra in extras.EXTRAS.items():
        wanted = {"authlib": "streamlit[auth]"}.get(package, package)
        assert any(one.startswith(wanted) for one in brought[extra])
