"""Commands for working as a team: who decides on what, how far people agree, who they are."""
