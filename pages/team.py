"""Team: assignment, agreement and statistics for several reviewers."""

from pages.components.review import practice_section
from pages.components.shared.links import GOLD, PEOPLE, PRACTICE, SECTION
from pages.components.shared.shell import frame
from pages.components.team import (
    agreement_section,
    assignment_section,
    audit_section,
    gold_section,
    people_section,
)

SECTIONS = {
    "Agreement": agreement_section.draw,
    "Assignment": assignment_section.draw,
    "Audit": audit_section.draw,
    GOLD: gold_section.draw,
    PEOPLE: people_section.draw,
    PRACTICE: practice_section.draw,
}

frame.begin(
    "Team",
    "Assign variants to several people, measure their agreement, and see who did what.",
)
SECTIONS[frame.section(list(SECTIONS), key=SECTION)]()
