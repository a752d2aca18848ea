"""The data section of a paper about a release, in LaTeX or Markdown: nothing in it is typed in."""
