"""How a variant and its guideline appear, and warnings while somebody writes one."""
