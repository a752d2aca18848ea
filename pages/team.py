"""Team: how several people review together."""

from pages.components.shared.shell import frame
from pages.components.team import agreement_section

SECTIONS = {"Agreement": agreement_section.draw}

frame.begin("Team", "How far people agree on the variants that several of them have decided on.")
SECTIONS[frame.section(list(SECTIONS), key="show")]()
