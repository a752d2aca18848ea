"""Markup of a review card: anchor, variant, diagnostics, siblings."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from curation.decisions.status import status_label
from curation.diagnostics.measures import Flag
from curation.diagnostics.surface import check_surface, marks
from curation.formatting import counted
from curation.review.cards import Card
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.surface_check import ROLES
from db.models import Status
from pages.components.shared.formatting import diff, has_diff, join, likeness
from pages.components.shared.links import permalink

# -- sibling --------------------------------------------------------------------------------------


MIN_LIKENESS = 0.6
"""Minimum likeness of two variants for a comparison (see ``likeness``). Passages of one family
share more than 0.9 of their words, other variants without a diff less than 0.4."""


class Sibling(NamedTuple):
    """Another variant of the same anchor: its text and the label of its type."""

    text: str
    label: str


def wants_sibling(shown: Card) -> bool:
    """Whether the card needs a sibling, because there is no diff against its anchor."""
    return not has_diff(shown.anchor, shown.variant.text)


def nearest_sibling(
    shown: Card, family: Iterable[Card], entries: Mapping[str, VariantType]
) -> Sibling | None:
    """The sibling of another role that shares the most words with this variant, if any.

    Paraphrases come first, because they make the anchor's claim.

    Args:
        entries: every type by its id.
    """
    role = entries[shown.variant.type_id].role
    others = [
        (likeness(other.variant.text, shown.variant.text), other.variant.text, its)
        for other in family
        if other.is_shown_with(shown) and (its := entries[other.variant.type_id]).role != role
    ]
    near = [found for found in others if found[0] >= MIN_LIKENESS]
    if not near:
        return None
    _, text, its = max(near, key=lambda found: (found[2].role == "paraphrase", found[0]))
    return Sibling(text, its.label)


_NOTHING = Markup("")

_BLIND = "Diagnostics, notes and other verdicts are hidden, so that you decide independently."

SCROLLS = 300
"""Length in characters from which a sentence may need to scroll in a narrow window."""


def card(
    shown: Card,
    entry: VariantType,
    *,
    threshold: int,
    hidden: bool = False,
    why_blind: str = "",
    say_why: bool = False,
    notice: Markup = _NOTHING,
    sibling: Sibling | None = None,
) -> Markup:
    """A whole card.

    Args:
        threshold: largest Levenshtein distance without a flag, in characters.
        hidden: leave out diagnostics and the status, for a blind decision.
        why_blind: the tooltip of the chip that says that the card is blind.
        say_why: say in words what makes the variant suspicious, in the order that puts it first.
        notice: what else the reviewer needs to know before deciding.
        sibling: the variant to compare with instead of the anchor.
    """
    return Markup(
        '<article class="hg-card" data-variant="{}" aria-label="Variant">{}{}{}{}{}</article>'
    ).format(
        shown.variant.uid,
        _head(shown, entry, hidden=hidden),
        Markup('<div class="hg-definition" title="{}">{}</div>').format(
            f"Example: {entry.example_anchor} → {entry.example}", entry.definition
        ),
        join([notice, _why(shown) if say_why and not hidden else _NOTHING, _second_look(shown)]),
        sentences(shown, sibling),
        chips(shown, entry, threshold=threshold, hidden=hidden, why_blind=why_blind),
    )


def _head(shown: Card, entry: VariantType, *, hidden: bool) -> Markup:
    link = Markup('<a href="{}" title="Permalink to this variant">{}</a>').format(
        permalink(shown.variant.uid), shown.variant.uid
    )
    copy = Markup(
        '<button type="button" class="hg-copy" data-link="{}" title="Copy the permalink (P)">'
        "Copy link</button>"
    ).format(permalink(shown.variant.uid))
    genre = (
        Markup('<span title="The genre of the anchor.">genre: {}</span>').format(shown.genre)
        if shown.genre
        else ""
    )
    parts: list[str | Markup] = [
        f"correct if it {ROLES[entry.role].does}",
        genre,
        link + " · " + copy,
    ]
    if shown.variant.status != Status.PENDING and not hidden:
        parts.insert(1, f"status: {status_label(shown.variant.status)}")
    return Markup('<div class="hg-head"><span class="hg-type">{}</span>{}</div>').format(
        entry.label, join(Markup("<span>{}</span>").format(part) for part in parts if part)
    )


def notice(text: str, uid: str = "") -> Markup:
    """A line above the sentences, with a link to the variant ``uid`` if one is given."""
    link = Markup(' <a href="{}">{}</a>').format(permalink(uid), uid) if uid else _NOTHING
    return Markup('<div class="hg-notice">{}{}</div>').format(text, link)


def _why(shown: Card) -> Markup:
    """Why the variant is among the most suspicious, in words."""
    if shown.flags:
        return notice(f"Suspicious: {shown.flags.label}. {shown.flags.explanation}")
    if shown.levenshtein is None:
        return _NOTHING
    return notice("Nothing is flagged. The position depends only on the distance from the anchor.")


def _second_look(shown: Card) -> Markup:
    """The notice that the anchor was corrected, with the changes."""
    if not shown.variant.second_look:
        return _NOTHING
    if shown.made_for == shown.anchor:
        return notice("Second look: the anchor was corrected and then changed back.")
    old, new = diff(shown.made_for, shown.anchor)
    return Markup('<div class="hg-notice">Second look: the anchor was corrected.{}{}</div>').format(
        _row("hg-was", "Made for", old), _row("hg-was", "Now", new)
    )


def family_row(
    shown: Card,
    entry: VariantType,
    *,
    threshold: int,
    focus: bool,
    hidden: bool = False,
    sibling: Sibling | None = None,
) -> Markup:
    """One variant of a family, as a line. ``focus``: the keys act on it."""
    _, new = _diff(shown, sibling)
    return Markup(
        '<article class="hg-card hg-line{}" data-variant="{}" aria-label="{}">'
        '<span class="hg-label">{} · {}</span>{}{}</article>'
    ).format(
        " hg-focus" if focus else "",
        shown.variant.uid,
        "Active variant" if focus else "Variant",
        entry.label,
        "hidden" if hidden else status_label(shown.variant.status),
        new,
        chips(shown, entry, threshold=threshold, hidden=hidden),
    )


def sentences(shown: Card, sibling: Sibling | None = None) -> Markup:
    """The anchor and the variant with the diff and the marks; with ``sibling``, the diff to it."""
    if sibling is None:
        return pair(shown.anchor, shown.variant.text, cue=shown.variant.cue)
    old, new = _diff(shown, sibling)
    return join(
        [
            _row("hg-anchor", "Anchor", diff(shown.anchor, shown.anchor)[0]),
            _row("hg-variant hg-passage", "Variant", new),
            _row("hg-sibling", f"Sibling: {sibling.label}", old),
        ]
    )


def pair(anchor: str, text: str, *, cue: str | None) -> Markup:
    """An anchor and a variant that need not be stored, with the diff and the marks."""
    old, new = diff(anchor, text, marks(anchor=anchor, text=text, cue=cue))
    marked = "<ins>" in new or "<del>" in old or anchor == text
    label = "Variant" if marked else "Variant (no diff)"
    return _row("hg-anchor", "Anchor", old) + _row("hg-variant", label, new)


def _row(kind: str, label: str, sentence: Markup) -> Markup:
    # A sentence that may scroll must be reachable with the keyboard.
    long = len(sentence.striptags()) > SCROLLS
    return Markup(
        '<div class="hg-row {}"><span class="hg-label">{}</span>'
        '<div class="hg-scroll"{}>{}</div></div>'
    ).format(
        kind,
        label,
        Markup(' tabindex="0" role="group" aria-label="{}"').format(label) if long else "",
        sentence,
    )


def _diff(shown: Card, sibling: Sibling | None = None) -> tuple[Markup, Markup]:
    """The anchor or sibling, and the variant."""
    other, text = sibling.text if sibling else shown.anchor, shown.variant.text
    return diff(other, text, marks(anchor=other, text=text, cue=shown.variant.cue))


def chips(
    shown: Card,
    entry: VariantType,
    *,
    threshold: int,
    hidden: bool = False,
    why_blind: str = "",
) -> Markup:
    """The diagnostics with their thresholds; flagged ones are highlighted and say why."""
    parts: list[Markup] = []
    if shown.variant.cue:
        title = "The requested hedge cue, or the frame that a rule used."
        parts.append(_chip("cue ", shown.variant.cue, title=title))
    if shown.variant.second_look:
        parts.append(_chip("", "second look", title="The anchor was corrected. Decide again."))
    if hidden:
        parts.append(_chip("", "blind", title=why_blind or _BLIND))
        return _chip_row(parts)
    if shown.notes:
        parts.append(_chip("", counted(shown.notes, "note"), title="Press G to read them."))
    if shown.levenshtein is None:
        parts.append(_chip("", "not measured yet", title="The next diagnostics run measures it."))
        return _chip_row(parts)
    keeps_words = entry.surface_check.keeps_words
    parts.append(_distance(shown, threshold if keeps_words else None))
    cosine = "pending" if shown.cosine is None else f"{shown.cosine:.2f}"
    title = "Cosine similarity to the anchor, computed with the active encoder."
    parts.append(_chip("cosine ", cosine, title=title))
    if keeps_words:  # these two mean nothing for free-form types
        parts += [
            _chip(
                "length ",
                f"×{shown.length_ratio:.2f}",
                title="Number of words, divided by the anchor's number of words.",
            ),
            _chip(
                "content kept ",
                f"{shown.content_kept:.0%}",
                title="Share of the anchor's content words that the variant keeps.",
                warn=Flag.CONTENT_DROPPED in shown.flags,
            ),
        ]
    parts += _flag_chips(shown, entry)
    return _chip_row(parts)


def _distance(shown: Card, threshold: int | None) -> Markup:
    if threshold is None:
        title = "Edit distance to the anchor, in characters. Free-form types have no threshold."
        return _chip("Levenshtein ", str(shown.levenshtein), title=title)
    return _chip(
        "Levenshtein ",
        f"{shown.levenshtein} / {threshold}",
        title="Edit distance to the anchor, in characters, and the threshold for a flag.",
        warn=Flag.OVER_THRESHOLD in shown.flags,
    )


def _flag_chips(shown: Card, entry: VariantType) -> Iterable[Markup]:
    for flag in Flag:
        if flag not in shown.flags or flag in (Flag.OVER_THRESHOLD, Flag.CONTENT_DROPPED):
            continue
        text = flag.label
        if flag == Flag.WRONG_SURFACE:
            problems = check_surface(
                entry.surface_check,
                anchor=shown.anchor,
                text=shown.variant.text,
                cue=shown.variant.cue,
            )
            text = " ".join(problems) or text
        yield _chip("", text, title=flag.explanation, warn=True)


def _chip(label: str, value: str, *, title: str, warn: bool = False) -> Markup:
    return Markup('<span class="hg-chip{}" title="{}">{}<b>{}</b></span>').format(
        " hg-warn" if warn else "", title, label, value
    )


def _chip_row(parts: Iterable[Markup]) -> Markup:
    return Markup('<div class="hg-chips">{}</div>').format(join(parts))


def siblings(others: Sequence[tuple[Card, str]], hidden: Collection[int] = ()) -> Markup:
    """The anchor's other variants, each with its type's label and, unless hidden, its status."""
    rows = []
    for sibling, label in others:
        _, new = _diff(sibling)
        status = (
            "" if sibling.variant.id in hidden else f" · {status_label(sibling.variant.status)}"
        )
        rows.append(
            Markup(
                '<div class="hg-row"><span class="hg-label">{}{}</span><div>{}</div></div>'
            ).format(label, status, new)
        )
    return Markup('<div class="hg-card hg-siblings">{}</div>').format(join(rows))


def message(text: str, *, warn: bool = False, pace: str = "", early: str = "") -> Markup:
    """The result of the last key press, and on the right the pace.

    Args:
        early: added when the browser ignores a key that was pressed too early (see keys.js).
    """
    return Markup(
        '<div class="hg-said"><div class="hg-message{}" role="status" data-early="{}">{}</div>'
        '<div class="hg-pace">{}</div></div>'
    ).format(" hg-warn" if warn else "", early, text, pace)


def line(text: str, about: str = "") -> Markup:
    """Plain text, and below it a small line about it, with space for buttons on the right."""
    small = Markup("<small>{}</small>").format(about) if about else _NOTHING
    return Markup('<div class="hg-told">{}{}</div>').format(text, small)
