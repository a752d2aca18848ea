"""A type's guideline next to the card: the rules, and judged examples with their word diff."""

from collections.abc import Iterable
from functools import lru_cache

from markupsafe import Markup

from curation.diagnostics.surface import marks
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.guideline import (
    ExampleKind,
    Guideline,
    GuidelineExample,
    GuidelineRule,
    parse_guideline,
)
from pages.components.shared.formatting.diff import diff, join

_HEADINGS = {ExampleKind.GOOD: "Good", ExampleKind.BAD: "Bad", ExampleKind.BORDERLINE: "Borderline"}


@lru_cache(maxsize=64)
def guide(entry: VariantType) -> Markup:
    """The guideline of a type. If it is longer than the window, it scrolls."""
    found = parse_guideline(entry.guideline)
    return Markup(
        '<aside class="hg-card hg-guide" aria-label="Guideline" tabindex="0">'
        '<div class="hg-head"><span class="hg-type">{}</span><span>guideline</span></div>'
        "<p>{}</p>{}{}</aside>"
    ).format(
        entry.label,
        _capital(found.asked_for or entry.definition),
        join(_examples(found, kind) for kind in ExampleKind),
        _rules(found.rules),
    )


def part(found: Guideline) -> Markup:
    """The examples and rules in a part of a guideline."""
    return Markup('<div class="hg-passage">{}{}</div>').format(
        join(_examples(found, kind) for kind in ExampleKind),
        _rules(found.rules),
    )


def _examples(found: Guideline, kind: ExampleKind) -> Markup:
    examples = found.of(kind)
    if not examples:
        return Markup("")
    return _section(_HEADINGS[kind], kind.value, map(_example, examples))


def _rules(rules: Iterable[GuidelineRule]) -> Markup:
    parts = [
        Markup("<p>{}{}</p>").format(
            Markup("<b>{}.</b> ").format(_capital(rule.name)) if rule.name else "",
            _capital(rule.text),
        )
        for rule in rules
    ]
    return _section("Rules", "rules", parts) if parts else Markup("")


def _section(heading: str, kind: str, parts: Iterable[Markup]) -> Markup:
    return Markup('<details class="hg-{}" open><summary>{}</summary>{}</details>').format(
        kind, heading, join(parts)
    )


def _example(example: GuidelineExample) -> Markup:
    found = marks(anchor=example.anchor, text=example.variant, cue=example.cue)
    old, new = diff(example.anchor, example.variant, found)
    verdict = Markup('<span class="hg-verdict">{}</span> ').format(_capital(example.verdict) + ".")
    return Markup('<div class="hg-example"><div>{}</div><div>→ {}</div><p>{}{}</p></div>').format(
        old, new, verdict if example.verdict else "", example.why
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
