"""Team: how several people review together."""

from pages.components.review import practice_section
from pages.components.shared.links import GOLD, PEOPLE, PRACTICE, SECTION
from pages.components.shared.shell import frame
from pages.components.team import (
    agreement_section,
    audit_section,
    gold_section,
    people_section,
)

SECTIONS = {
    "Agreement": agreement_section.draw,
    "Audit": audit_section.draw,
    GOLD: gold_section.draw,
    PEOPLE: people_section.draw,
    PRACTICE: practice_section.draw,
}

frame.begin(
    "Team",
    "How far people agree on the variants that several of them have decided on, and who did what.",
)
SECTIONS[frame.section(list(SECTIONS), key=SECTION)]()
