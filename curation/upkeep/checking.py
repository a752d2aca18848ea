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
"""All checks in order."""


class Finding(NamedTuple):
    """The result of one check.

    Attributes:
        id: the name of the check for scripts.
        title: what was checked, for people.
        number: the number of problems.
        example: one of the problems; may contain hostile text.
        harmless: whether these are not problems but leftovers that a repair removes.
        repaired: whether they were repaired.
        advice: what a person has to do if a repair can't fix them; otherwise ''.
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
        """Whether problems remain."""
        return bool(self.number) and not self.harmless and not self.repaired

    def sentence(self) -> str:
        """The finding as one line."""
        if not self.number:
            return f"{self.title}: OK."
        kind = "harmless leftovers" if self.harmless else "found"
        example = f", such as {self.example}" if self.example else ""
        result = f"{self.title}: {self.number:,} {kind}{example}."
        if self.repaired:
            return f"{result} Repaired."
        return f"{result} {self.advice or 'A repair fixes this.'}"


@dataclass(frozen=True)
class CheckResult:
    """The results of all checks."""

    findings: tuple[Finding, ...]

    @property
    def is_clean(self) -> bool:
        """Whether no problems remain."""
        return not any(finding.is_open for finding in self.findings)

    @property
    def can_be_repaired(self) -> bool:
        """Whether a repair would fix or remove something."""
        return any(each.number and not each.repaired and not each.advice for each in self.findings)

    @property
    def facts(self) -> dict[str, Any]:
        """The results, for JSON."""
        findings = [each._asdict() | {"open": each.is_open} for each in self.findings]
        return {"clean": self.is_clean, "findings": findings}

    @classmethod
    def of_facts(cls, facts: dict[str, Any]) -> "CheckResult":
        """The inverse of `facts`."""
        names = Finding._fields
        return cls(tuple(Finding(*(each[name] for name in names)) for each in facts["findings"]))


def check_project(
    engine: Engine, settings: Settings, *, repair: bool = False, report: Report
) -> CheckResult:
    """Run all checks.

    Args:
        repair: recompute values that can be derived from other data. Decisions, texts and files
            are never changed.

    Raises:
        HedgerowError: the database cannot be read or written, or the person is not a lead.
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
