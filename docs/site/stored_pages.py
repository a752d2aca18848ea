"""Files that are generated from the code and stored in the repository, where people expect them."""

from collections.abc import Callable
from pathlib import Path

from docs.site.guideline_page import guideline_page
from docs.site.settings_page import env_example
from docs.site.sources import DOCS, ROOT

STORED_PAGES: dict[Path, Callable[[], str]] = {
    DOCS / "guideline.md": guideline_page,
    ROOT / ".env.example": env_example,
}


def write_stored_pages() -> None:
    """Update all of them."""
    for path, make in STORED_PAGES.items():
        path.write_text(make(), encoding="utf-8")
