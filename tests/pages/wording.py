"""What a page says: one snapshot per page in ``tests/pages/wording/``, renewed by `make wording`.

A snapshot has a section for each state in which a test looked at the page. It is the only place
where tests repeat a page's wording; everything else asserts ids, numbers and states.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block

FOLDER = Path(__file__).with_name("wording")
FIELDS = ("label", "value", "help", "placeholder", "body", "unit")
SILENT = ("html", "css", "json")
"""Kinds of elements without sentences of ours."""

VARYING = (
    (re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d([.,]\d+)?)?)?( UTC)?"), "DATE"),
    (re.compile(r"127\.0\.0\.1:\d+"), "SERVER"),
    (re.compile(r"(/[\w.@+-]+){2,}/?"), "PATH"),
    (re.compile(r"(?<![\w.])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,}"), "UID"),
    (re.compile(r"\b\d+\.\d+\.\d+(\.?\w+)*(\+\w+)?"), "VERSION"),
    (re.compile(r"\b[\d.]+ [kMGT]B free"), "N free"),
    (re.compile(r"\b\d+(\.\d+)?(?= (ms|s|seconds?|minutes?|hours?|[kKMG]i?B)\b)"), "N"),
)
"""What differs from run to run."""


def spoken(app: AppTest) -> list[str]:
    """The texts of the page, the sidebar first, each once."""
    lines = [line for block in (app.sidebar, app.main) for line in _lines(block)]
    return list(dict.fromkeys(lines))


def compare(name: str, state: str, lines: list[str], *, renew: bool) -> None:
    """Compare the texts with the section of this state, or write it.

    Raises:
        AssertionError: the section is missing or differs.
    """
    path = FOLDER / f"{name}.txt"
    sections = _sections(path)
    if renew:
        sections[state] = lines
        body = (f"# {key}\n" + "\n".join(sections[key]) for key in sorted(sections))
        path.write_text("\n\n".join(body) + "\n", encoding="utf-8")
        return
    assert lines == sections.get(state), f"{path.name}, “{state}”: 'make wording' renews it"


def _sections(path: Path) -> dict[str, list[str]]:
    sections: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        if line.startswith("# "):
            here = sections.setdefault(line[2:], [])
        elif line:
            here.append(line)
    return sections


def _lines(block: Block) -> Iterator[str]:
    for element in block:
        kind = element.type
        if kind in SILENT:
            continue
        if kind == "vega_lite_chart" or kind == "arrow_vega_lite_chart":
            found = list(_titles(json.loads(element.proto.spec or "{}")))
        elif kind in ("arrow_data_frame", "dataframe"):
            found = [" | ".join(map(str, element.value.columns))]
        else:
            found = [_said(getattr(element, field, None)) for field in FIELDS]
            found += [" | ".join(map(str, getattr(element, "options", None) or ()))]
        if words := list(dict.fromkeys(_steady(text) for text in found if text)):
            yield f"{kind}: " + " ¦ ".join(words)


def _said(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _titles(spec: Any) -> Iterator[str]:
    """The titles in a chart's specification."""
    if isinstance(spec, dict):
        for key, value in spec.items():
            if key == "title" and isinstance(value, str):
                yield value
            elif key not in ("data", "datasets"):
                yield from _titles(value)
    elif isinstance(spec, list):
        for part in spec:
            yield from _titles(part)


def _steady(text: str) -> str:
    for pattern, name in VARYING:
        text = pattern.sub(name, text)
    return text.replace("\n", " ⏎ ")
