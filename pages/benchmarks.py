"""Benchmarks: does a model understand negation, what did it cost, and where does it err."""

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
    "See how well a model handles negation, what it lost elsewhere, and where it errs.",
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
