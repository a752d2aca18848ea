"""A type's guideline: the request, rules, and good, bad and borderline examples.

It is stored as plain text that people can read, in paragraphs separated by empty lines::

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

'Bad' is followed by a reject reason, 'Borderline' by what to do. An example of a hedge names its
cue, as in ``Good (cue: probably):``. Any other paragraph is read as a rule, so that guidelines from
before this format, or by somebody who doesn't know it, are shown too.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache


class ExampleKind(StrEnum):
    """The kind of an example."""

    GOOD = "good"
    BAD = "bad"
    BORDERLINE = "borderline"


@dataclass(frozen=True)
class GuidelineExample:
    """A variant of an anchor with a judgement.

    Attributes:
        verdict: for a bad example, the label of the reject reason; for a borderline one, what to
            do.
        cue: the hedge cue that was requested, if any.
    """

    kind: ExampleKind
    anchor: str
    variant: str
    why: str
    verdict: str = ""
    cue: str | None = None


@dataclass(frozen=True)
class GuidelineRule:
    """What to do in one kind of case; ``name`` is empty if the text has none."""

    name: str
    text: str


@dataclass(frozen=True)
class Guideline:
    """The parts of a guideline, each in the order of the text."""

    asked_for: str
    rules: tuple[GuidelineRule, ...]
    examples: tuple[GuidelineExample, ...]

    def examples_of(self, kind: ExampleKind) -> tuple[GuidelineExample, ...]:
        """Return the examples of one kind."""
        return tuple(example for example in self.examples if example.kind is kind)


PASSAGE = 2
"""Maximum examples, and maximum rules, in a passage: reviewers don't read more about one card."""


def passage(found: Guideline, reason: str = "") -> Guideline:
    """Return the part of a guideline that is relevant for one verdict.

    Args:
        reason: the label of a reject reason, such as 'Wrong scope'; '' for an acceptance.

    Returns:
        For a rejection, the bad and borderline examples and the rules that name its reason, or the
        bad examples if none do. For an acceptance, the good examples. At most ``PASSAGE`` of each.
    """
    if not reason:
        return Guideline(found.asked_for, (), found.examples_of(ExampleKind.GOOD)[:PASSAGE])
    name = reason.lower()
    rules = tuple(rule for rule in found.rules if name in f"{rule.name} {rule.text}".lower())
    examples = tuple(one for one in found.examples if name in one.verdict.lower())
    if not rules and not examples:
        examples = found.examples_of(ExampleKind.BAD)
    return Guideline(found.asked_for, rules[:PASSAGE], examples[:PASSAGE])


_ASKED = re.compile(r"Asked for:\s*(.+)", re.DOTALL)
_RULE = re.compile(r"Rule(?:, (?P<name>[^:]+))?:\s*(?P<text>.+)", re.DOTALL)
_EXAMPLE = re.compile(
    r"(?P<kind>Good|Bad|Borderline)(?:, (?P<verdict>[^:()]+))?(?: \(cue: (?P<cue>[^()]+)\))?:\n"
    r"(?P<anchor>.+)\n→ (?P<variant>.+)\n(?P<why>.+)",
    re.DOTALL,
)


def made_guideline(*, definition: str, anchor: str, example: str) -> str:
    """Make a guideline for a type without one from its definition and its example."""
    return (
        f"Asked for: {definition}\n\nGood:\n{anchor}\n→ {example}\nThe example of the definition."
    )


@lru_cache(maxsize=64)
def parse_guideline(text: str) -> Guideline:
    """Parse a guideline. Every text is accepted; see above."""
    asked_for = ""
    rules: list[GuidelineRule] = []
    examples: list[GuidelineExample] = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if not (paragraph := paragraph.strip()):
            continue
        if not asked_for and (match := _ASKED.fullmatch(paragraph)):
            asked_for = _one_line(match[1])
        elif match := _EXAMPLE.fullmatch(paragraph):
            examples.append(
                GuidelineExample(
                    kind=ExampleKind(match["kind"].lower()),
                    anchor=match["anchor"].strip(),
                    variant=match["variant"].strip(),
                    why=_one_line(match["why"]),
                    verdict=match["verdict"] or "",
                    cue=match["cue"],
                )
            )
        elif match := _RULE.fullmatch(paragraph):
            rules.append(GuidelineRule(match["name"] or "", _one_line(match["text"])))
        else:
            rules.append(GuidelineRule("", _one_line(paragraph)))
    return Guideline(asked_for, tuple(rules), tuple(examples))


def _one_line(text: str) -> str:
    return " ".join(text.split())
