"""The reviewing guideline as a page for reading and printing, with the app's texts."""

import re
from collections.abc import Iterator

from curation.editing.own_types import ORIGINAL_TYPES
from curation.taxonomy.built_in import GUIDELINE_VERSION, TAXONOMY, guideline_of
from curation.taxonomy.guideline import ExampleKind, GuidelineExample, parse_guideline
from curation.taxonomy.reject_reasons import REJECT_REASONS
from curation.taxonomy.surface_check import ROLES

_HEAD = f"""\
# Reviewing guideline

*Version {GUIDELINE_VERSION}. Each decision stores the current version. `make docs` generates this
page from the guidelines that the app shows next to the card.*

You see an **anchor**, an affirmative sentence, and a **variant** of it. The variant's **type** says
how it should differ from the anchor. Accept the variant if a careful writer could have written it
and it meets the requirements of its type. Otherwise reject it and give the reason, or edit it if a
small change makes it right. Read the section of a type before you review it for the first time.
[Reviewing](reviewing.md) explains keys, queues and blind mode.

![A variant on the review page, with the guideline of its type next to it](images/review.png)

The **role** of the type decides what to compare:

| role | the variant | ask yourself |
|---|---|---|
| paraphrase | says what the anchor says | Could you replace one with the other? |
| hedge | makes the same claim with less certainty | Would you still bet that the claim is true? |
| unsupported | leaves the claim open | Would you bet as much on the claim as against it? |
| negation | contradicts the anchor | Can both be true of the same things at once? If so, reject. |

## Reasons to reject

| key | reason | when | types |
|---|---|---|---|
"""

_IMPORTED = """
## Texts from imported data sets

Data sets for natural language inference have an entailment and a contradiction for each premise.
If you import these texts, the project gets two more types.
"""

_HEADINGS = {
    ExampleKind.GOOD: "Good",
    ExampleKind.BAD: "Bad",
    ExampleKind.BORDERLINE: "Borderline",
}


def guideline_page() -> str:
    """Reject reasons, then each type with its definition, rules and examples, in Markdown."""
    return "".join(_parts())


def _parts() -> Iterator[str]:
    yield _HEAD
    for reason in REJECT_REASONS:
        roles = "all" if len(reason.roles) == len(ROLES) else f"{', '.join(reason.roles)} only"
        yield f"| {reason.digit} | {reason.label} | {reason.explanation} | {roles} |\n"
    for entry in TAXONOMY:
        yield _section(entry.label, entry.role, entry.definition, entry.guideline, level=2)
    yield _IMPORTED
    for type_id, own in ORIGINAL_TYPES.items():
        yield _section(own.label, own.role, own.definition, guideline_of(type_id), level=3)


def _section(label: str, role: str, definition: str, guideline: str, *, level: int) -> str:
    found = parse_guideline(guideline)
    rules = [f"- **{_capital(rule.name)}:** {_plain(rule.text)}" for rule in found.rules]
    parts = [
        f"{'#' * level} {label}",
        f"*{_capital(role)}.* {_plain(definition)}",
        f"**Asked for:** {_plain(found.asked_for)}",
        "\n".join(rules),
    ]
    for kind, heading in _HEADINGS.items():
        if examples := found.examples_of(kind):
            parts += [f"**{heading}**", "\n".join(map(_example, examples))]
    return "\n" + "\n\n".join(parts) + "\n"


def _example(example: GuidelineExample) -> str:
    """An example as a list item: both sentences, the verdict and its explanation."""
    cue = f" (cue: *{_plain(example.cue)}*)" if example.cue else ""
    verdict = f"**{_capital(example.verdict)}**{cue}: " if example.verdict else ""
    asked = f"Asked for the cue *{_plain(example.cue)}*. " if example.cue and not verdict else ""
    return (
        f"- {_plain(example.anchor)}<br>\n"
        f"  → *{_plain(example.variant)}*<br>\n"
        f"  {verdict}{asked}{_plain(example.why)}"
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _plain(text: str) -> str:
    """The text with all Markdown characters escaped."""
    return re.sub(r"([\\`*_\[\]<>#|~])", r"\\\1", text)
