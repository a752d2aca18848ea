"""Found variants as a table of full sentences, with each row as high as its text.

This is HTML because all rows of an ``st.dataframe`` have the same height: it would cut sentences or
waste space.
"""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from curation.decisions.status import status_label
from curation.diagnostics.variant_table import FoundVariant
from pages.components.shared.formatting.diff import join
from pages.components.shared.variants.card import permalink

_HEADS = ("Card", "Variant", "Anchor", "Type", "Status", "Distance", "Cosine", "Flags", "Cue")
_NUMBERS = ("Distance", "Cosine")


def table(rows: Sequence[FoundVariant], labels: Mapping[str, str]) -> Markup:
    """The variants in order; a table longer than the window scrolls separately.

    Args:
        labels: type id → name; other types are named by their id.
    """
    heads = (Markup('<th scope="col"{}>{}</th>').format(_style(head), head) for head in _HEADS)
    return Markup(
        '<div class="hg-found" tabindex="0" role="region" aria-label="Variants">'
        "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
    ).format(join(heads), join(_row(row, labels) for row in rows))


def _row(row: FoundVariant, labels: Mapping[str, str]) -> Markup:
    card = Markup('<a href="{}" target="_blank" title="{}">Open</a>').format(
        permalink(row.uid), "Opens the variant's card in Review in a new tab."
    )
    cells: dict[str, str | Markup] = {
        "Card": card,
        "Variant": _sentence(row.text),
        "Anchor": _sentence(row.anchor),
        "Type": labels.get(row.type_id, row.type_id),
        "Status": status_label(row.status),
        "Distance": "" if row.levenshtein is None else str(row.levenshtein),
        "Cosine": "" if row.cosine is None else f"{row.cosine:.3f}",
        "Flags": row.flags.label if row.flags else "",
        "Cue": row.cue or "",
    }
    return Markup("<tr>{}</tr>").format(
        join(Markup("<td{}>{}</td>").format(_style(head), cells[head]) for head in _HEADS)
    )


def _sentence(text: str) -> Markup:
    return Markup('<span class="hg-text" dir="auto">{}</span>').format(text)


def _style(head: str) -> Markup:
    return Markup(' class="hg-number"') if head in _NUMBERS else Markup("")
