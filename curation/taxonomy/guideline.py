"""A type's guideline: what is asked for, rules, and good, bad and borderline examples.

It is kept as plain text, readable as it stands, in paragraphs with an empty line between them::

    Asked for: 'not' or '-n't' on the finite verb of the main clause.

    Rule, two negators: they cancel out; reject as double negation.

    Good:
    The ferry leaves at nine.
    → The ferry doesn't leave at nine.
    The verb takes 'do', and nothing else changes.

    Bad, wrong type:
    …

    Borderline, accept:
    …

After 'Bad' stands a reject reason, after 'Borderline' what to do; an example of a hedge names its
cue, as in ``Good (cue: probably):``. A paragraph of any other form is read as a rule, so that a
guideline written before there was this form, or by somebody who doesn't know it, is shown as well.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache


class ExampleKind(StrEnum):
    """What an example shows."""

    GOOD = "good"
    BAD = "bad"
    BORDERLINE = "borderline"


@dataclass(frozen=True)
class GuidelineExample:
    """A variant of an anchor, judged.

    Attributes:
        verdict: of a bad one the label of the reject reason, of a borderline one what to do.
        cue: the hedge cue it was asked for, if any.
    """

    kind: ExampleKind
    anchor: str
    variant: str
    why: str
    verdict: str = ""
    cue: str | None = None


@dataclass(frozen=True)
class GuidelineRule:
    """What to do in one kind of case; ``name`` is empty where the text gives none."""

    name: str
    text: str


@dataclass(frozen=True)
class Guideline:
    """A guideline in its parts, each in the order of the text."""

    asked_for: str
    rules: tuple[GuidelineRule, ...]
    examples: tuple[GuidelineExample, ...]

    def of(self, kind: ExampleKind) -> tuple[GuidelineExample, ...]:
        """The examples of one kind."""
        return tuple(example for example in self.examples if example.kind is kind)


PASSAGE = 2
"""Examples, and rules, of a passage: more are not read while the card is fresh in mind."""


def passage(found: Guideline, reason: str = "") -> Guideline:
    """The part of a guideline that bears on one verdict.

    Args:
        reason: the label of a reject reason, such as 'Wrong scope'; '' for an acceptance.

    Returns:
        Of a rejection, the bad and borderline examples and the rules that name its reason, or the
        bad examples where none does; of an acceptance, the good examples. At most ``PASSAGE`` of
        each.
    """
    if not reason:
        return Guideline(found.asked_for, (), found.of(ExampleKind.GOOD)[:PASSAGE])
    name = reason.lower()
    rules = tuple(rule for rule in found.rules if name in f"{rule.name} {rule.text}".lower())
    examples = tuple(one for one in found.examples if name in one.verdict.lower())
    if not rules and not examples:
        examples = found.of(ExampleKind.BAD)
    return Guideline(found.asked_for, rules[:PASSAGE], examples[:PASSAGE])


_ASKED = re.compile(r"Asked for:\s*(.+)", re.DOTALL)
_RULE = re.compile(r"Rule(?:, (?P<name>[^:]+))?:\s*(?P<text>.+)", re.DOTALL)
_EXAMPLE = re.compile(
    r"(?P<kind>Good|Bad|Borderline)(?:, (?P<verdict>[^:()]+))?(?: \(cue: (?P<cue>[^()]+)\))?:\n"
    r"(?P<anchor>.+)\n→ (?P<variant>.+)\n(?P<why>.+)",
    re.DOTALL,
)


def made_guideline(*, definition: str, anchor: str, example: str) -> str:
    """The guideline of a type that nobody has written one for: its definition and its example."""
    return (
        f"Asked for: {definition}\n\nGood:\n{anchor}\n→ {example}\nThe example of the definition."
    )


@lru_cache(maxsize=64)
def parse_guideline(text: str) -> Guideline:
    """Read a guideline; no text is refused, see above."""
    asked_for = ""
    rules: list[GuidelineRule] = []
    examples: list[GuidelineExample] = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if not (paragraph := paragraph.strip()):
            continue
        if not asked_for and (match := _ASKED.fullmatch(paragraph)):
            asked_for = _one_line(match[1])
        elif match := _EXAMPLE.fullmatch(paragraph):
            examples.append(_example(match))
        elif match := _RULE.fullmatch(paragraph):
            rules.append(GuidelineRule(match["name"] or "", _one_line(match["text"])))
        else:
            rules.append(GuidelineRule("", _one_line(paragraph)))
    return Guideline(asked_for, tuple(rules), tuple(examples))


def _example(match: re.Match[str]) -> GuidelineExample:
    return GuidelineExample(
        kind=ExampleKind(match["kind"].lower()),
        anchor=match["anchor"].strip(),
        variant=match["variant"].strip(),
        why=_one_line(match["why"]),
        verdict=match["verdict"] or "",
        cue=match["cue"],
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
