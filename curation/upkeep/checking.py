"""Check a project's consistency, and recompute derived values."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Engine

from curation.review.people.roles import Role, require
from curation.upkeep import database_checks, file_checks, kept_values, run_checks
from curation.upkeep.found import Check
from db.engine import reading, writing
from db.settings import Settings

Report = Callable[[int, int, str], None]

CHECKS: tuple[Check, ...] = (
    *database_checks.CHECKS,
    *kept_values.CHECKS,
    *file_checks.CHECKS,
    *run_checks.CHECKS,
)
"""All checks in order. Each check is one entry here."""


class Finding(NamedTuple):
    """The result of one check.

    Attributes:
        id: as scripts name the check.
        title: what was looked at, for people.
        number: how many places are wrong.
        example: one of them; possibly somebody's text.
        harmless: it is no fault, only something that a repair clears away.
        repaired: it has been put right.
        advice: what a person does where a repair can't put it right; '' where it can.
    """

    id: str
    title: str
    number: int
    example: str
    harmless: bool
    repaired: bool
    advice: str

    @property
    def is_open(self) -> bool:
        """Whether something is still wrong."""
        return bool(self.number) and not self.harmless and not self.repaired

    def sentence(self) -> str:
        """The finding as one line."""
        if not self.number:
            return f"{self.title}: OK."
        told = f"{self.title}: {self.number:,} found"
        if self.harmless:
            told = f"{self.title}: {self.number:,} harmless leftovers"
        told += f", such as {self.example}." if self.example else "."
        if self.repaired:
            return f"{told} Repaired."
        return f"{told} {self.advice or 'A repair fixes this.'}"


@dataclass(frozen=True)
class CheckResult:
    """The results of all checks."""

    findings: tuple[Finding, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing is wrong (any more)."""
        return not any(finding.is_open for finding in self.findings)

    @property
    def can_be_repaired(self) -> bool:
        """Whether a repair would put something right or clear it away."""
        return any(each.number and not each.repaired and not each.advice for each in self.findings)

    @property
    def facts(self) -> dict[str, Any]:
        """The same as JSON has it."""
        findings = [each._asdict() | {"open": each.is_open} for each in self.findings]
        return {"clean": self.is_clean, "findings": findings}

    @classmethod
    def of_facts(cls, facts: dict[str, Any]) -> "CheckResult":
        """What `facts` gave, read again."""
        names = Finding._fields
        return cls(tuple(Finding(*(each[name] for name in names)) for each in facts["findings"]))


def check_project(
    engine: Engine, settings: Settings, *, repair: bool = False, report: Report
) -> CheckResult:
    """Run all checks.

    Args:
        repair: put right what can be derived from what is stored; decisions, texts and files are
            never changed.

    Raises:
        HedgerowError: the database cannot be read or written, or whoever acts is no lead.
    """
    require(Role.LEAD)
    found = []
    for number, check in enumerate(CHECKS):
        report(number, len(CHECKS), f"Checking: {check.title.lower()}.")
        found.append(_made(check, engine, settings, repair=repair))
    return CheckResult(tuple(found))


def _made(check: Check, engine: Engine, settings: Settings, *, repair: bool) -> Finding:
    with reading(engine) as session:
        found = check.find(session, settings)
    repaired = False
    if found.number and repair and check.repair is not None:
        with writing(engine) as session:
            check.repair(session, found)
        repaired = True
    return Finding(
        id=check.id,
        title=check.title,
        number=found.number,
        example=found.example,
        harmless=check.harmless,
        repaired=repaired,
        advice=check.advice,
    )
