"""Benchmarks: how well a model handles negation, what that cost, and which items it gets wrong."""

from pages.components.benchmarks import (
    names,
    overlap_panel,
    prompts_section,
    scores_section,
    start_run,
)
from pages.components.benchmarks.items import entry
from pages.components.benchmarks.names import SECTION, SECTIONS
from pages.components.shared.chat_models import prompt_editor
from pages.components.shared.shell import frame

frame.begin(
    "Benchmarks",
    "Measure how well a model handles negation, what it loses elsewhere, and which items "
    "it gets wrong.",
)
prompt_editor.ensure()
section = frame.section(SECTIONS, key=SECTION)
match section:
    case names.SCORES:
        scores_section.draw()
    case names.ITEMS:
        entry.draw()
    case names.OVERLAP:
        overlap_panel.show()
    case names.PROMPTS:
        prompts_section.draw()
    case _:
        start_run.draw()
