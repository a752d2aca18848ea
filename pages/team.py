"""Team: how several people review together."""

from pages.components.shared.shell import frame
from pages.components.team import agreement_section, assignment_section, audit_section

SECTIONS = {
    "Agreement": agreement_section.draw,
    "Assignment": assignment_section.draw,
    "Audit": audit_section.draw,
}

frame.begin(
    "Team",
    "Who decides on what, how far people agree, and who did what.",
)
SECTIONS[frame.section(list(SECTIONS), key="show")]()
