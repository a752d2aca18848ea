"""The data section of a paper about a release, in LaTeX or Markdown, generated from the release."""
