"""Formats a report as LaTeX or Markdown. All text is untrusted until it is escaped here."""

import re
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

from sqlalchemy.orm import Session

from curation.formatting import escape, escaped, markdown_table
from curation.release.freezing import get_release
from curation.release.report.facts import Block, Cell, Code, Report, Table
from curation.release.report.sections import report


class Form(StrEnum):
    """The format of a report."""

    LATEX = "latex"
    MARKDOWN = "markdown"


ENDINGS = {Form.LATEX: "tex", Form.MARKDOWN: "md"}
"""File name extensions."""


def text(found: Report, form: Form) -> str:
    """Return the whole report, ending with a line feed."""
    return _WRITERS[form](found)


def report_text(session: Session, number: int, form: Form) -> str:
    """Return the complete report on the release with this number.

    Raises:
        HedgerowError: there is no such release.
    """
    return text(report(session, get_release(session, number)), form)


def _latex(found: Report) -> str:
    parts = [
        f"% Release {found.release}, SHA-256 {found.content_hash}. Written by Hedgerow.\n"
        "% It needs \\usepackage{booktabs} and, with pdfLaTeX, \\usepackage[T1]{fontenc}.",
        "\\section{Data}\n\\label{sec:data}",
    ]
    for section in found.sections:
        parts.append(f"\\subsection{{{_tex(section.title)}}}")
        parts += map(_latex_block, section.blocks)
    return "\n\n".join(parts) + "\n"


def _latex_block(block: Block) -> str:
    if isinstance(block, Table):
        return "\n".join(_latex_table(block))
    if isinstance(block, Code):
        # LaTeX never breaks a verbatim line, and a hash is longer than a paper's column.
        lines = re.sub(
            r"[0-9a-f]{64}", lambda found: f"{found[0][:32]}\n{found[0][32:]}", block.text
        )
        return f"\\begin{{verbatim}}\n{lines}\n\\end{{verbatim}}"
    return _tex(block)


def _latex_table(table: Table) -> Iterator[str]:
    yield from (r"\begin{table*}", r"\centering", r"\small")
    yield rf"\caption{{{_tex(table.caption)}}}"
    yield rf"\label{{tab:{table.name}}}"
    yield rf"\begin{{tabular}}{{{''.join(_alignments(table))}}}"
    yield r"\toprule"
    yield _latex_row(table.columns)
    yield r"\midrule"
    yield from map(_latex_row, table.rows)
    yield from (r"\bottomrule", r"\end{tabular}", r"\end{table*}")


def _alignments(table: Table) -> Iterator[str]:
    wide = 0.8 / max(1, len(table.wide))
    numbers = list(zip(*table.rows, strict=True)) if table.rows else [()] * len(table.columns)
    for name, cells in zip(table.columns, numbers, strict=True):
        if name in table.wide:
            yield rf"p{{{wide:.2f}\linewidth}}"
        else:
            yield "r" if any(isinstance(cell, int) for cell in cells) else "l"


def _latex_row(cells: Sequence[Cell]) -> str:
    shown = (f"{cell:,}" if isinstance(cell, int) else _tex(cell) for cell in cells)
    return rf"{' & '.join(shown)} \\"


def _tex(value: str) -> str:
    """Escape a text, and spell out those of our own characters that pdfLaTeX does not know."""
    text = escaped(value)
    for sign, spelled in _SIGNS.items():
        text = text.replace(sign, spelled)
    return text


def _markdown(found: Report) -> str:
    parts = [f"# Data: release {found.release}"]
    for section in found.sections:
        parts.append(f"## {section.title}")
        parts += map(_markdown_block, section.blocks)
    return "\n\n".join(parts) + "\n"


def _markdown_block(block: Block) -> str:
    if isinstance(block, Table):
        return f"{escape(block.caption)}\n\n{markdown_table(block.columns, block.rows)}"
    if isinstance(block, Code):
        return f"```\n{block.text}\n```"
    return escape(block)


_SIGNS = {"≈": r"$\approx$", "−": "$-$", "–": "--"}

_WRITERS: dict[Form, Callable[[Report], str]] = {
    Form.LATEX: _latex,
    Form.MARKDOWN: _markdown,
}
