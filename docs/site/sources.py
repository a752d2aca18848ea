"""The Markdown files of the site, and the targets of their links in it."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

DOCS = Path(__file__).parent.parent
ROOT = DOCS.parent

OTHERS = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "curation/encoders/bundled_adapter/README.md": "hedgerow_minilm.md",
    "deploy/space/README.md": "space.md",
}
"""Pages of the site whose source is not in ``docs/``; those of the corpora are found."""

_LINK = re.compile(r"(\]\()(?!\w+:)([^)\s#]+)((?:#[^)\s]*)?\))")
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_ENTRY = re.compile(r"^- \[[^\]]+\]\(([\w/]+)\.\w+\)", re.MULTILINE)


def places() -> dict[Path, str]:
    """Source file → page in the site."""
    found = {path: path.name for path in sorted(DOCS.glob("*.md"))}
    found |= {ROOT / source: page for source, page in OTHERS.items()}
    corpora = sorted((ROOT / "curation" / "corpora").glob("*/README.md"))
    return found | {path: f"corpora/{path.parent.name}.md" for path in corpora}


def collect(folder: Path, entries: Iterable[str]) -> None:
    """Copy all pages to a folder and adapt their links.

    Args:
        entries: the last lines of the index, for the pages that are generated from the code.
    """
    known = places()
    for path, page in known.items():
        text = with_links_of_site(path.read_text(encoding="utf-8"), path, known)
        if page == "index.md":
            text = text.rstrip() + "\n" + "".join(f"{entry}\n" for entry in entries)
            text += contents(text)
        place = folder / page
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def with_links_of_site(text: str, path: Path, known: dict[Path, str]) -> str:
    """A page's text, with links to other pages and to files in ``docs/`` adapted to the site.

    Any other link to a file stays as it is and ends the build, because the site has no code.
    """
    here = Path(known[path]).parent

    def adapted(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(path.parent / match[2]))
        if target in known:
            place = known[target]
        elif target.is_relative_to(DOCS):
            place = str(target.relative_to(DOCS))
        else:
            return match[0]
        return f"{match[1]}{os.path.relpath(place, here)}{match[3]}"

    return _LINK.sub(adapted, text)


def contents(index: str) -> str:
    """Hidden tables of contents, one for each section of the index, from its links."""
    trees = []
    parts = _SECTION.split(index)
    for title, section in zip(parts[1::2], parts[2::2], strict=True):
        if pages := _ENTRY.findall(section):
            options = f":hidden:\n:caption: {title}\n"
            trees.append("```{toctree}\n" + options + "\n" + "\n".join(pages) + "\n```\n")
    return "\n" + "\n".join(trees)
