"""Check a project's consistency, and recompute derived values."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Engine, delete, func, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.roles import require
from curation.upkeep import kept_values
from curation.upkeep.kept_values import Check, Found
from db import Report
from db.columns import db_now, now
from db.engine import reading, writing
from db.execution import RunContext
from db.models import BenchmarkResult, Encoder, Lease, Run, RunState, TeamRole
from db.runs import dead_runs
from db.settings import Settings

# -- Checks for leftovers of processes that ended unexpectedly: runs and leases -------------------


def _dead(session: Session, settings: Settings) -> Found:
    runs = dead_runs(session)
    return Found(len(runs), f"run {runs[0].id}, {runs[0].kind}" if runs else "")


def _end(session: Session, found: Found) -> None:
    """Store the state that readers derive: interrupted, so that the run can be started again."""
    for run in dead_runs(session):
        session.execute(
            update(Run)
            .where(col(Run.id) == run.id, col(Run.attempt) == run.attempt)
            .values(state=RunState.INTERRUPTED, message=run.message, finished_at=now())
        )


def _expired(session: Session, settings: Settings) -> Found:
    query = select(func.count()).select_from(Lease).where(col(Lease.until) <= db_now())
    return Found(session.execute(query).scalar_one())


def _clear(session: Session, found: Found) -> None:
    session.execute(delete(Lease).where(col(Lease.until) <= db_now()))


LEFTOVERS = (
    Check(
        id="runs", title="Runs marked as running whose process has ended", find=_dead, repair=_end
    ),
    Check(
        id="leases", title="Expired leases of cards", find=_expired, repair=_clear, harmless=True
    ),
)


# -- Checks of the data folder against the rows that refer to its files ---------------------------


_RUNS = "runs"
"""The subfolder of the data folder with one folder per run (see ``db.runs.create_run``)."""


def _named_files(session: Session) -> Iterator[str]:
    """Files in rows, relative to the data folder: models, and rows of benchmark results."""
    for column in (col(Encoder.path), col(BenchmarkResult.file)):
        yield from session.execute(select(column).where(column != "")).scalars()


def _missing(session: Session, settings: Settings) -> Found:
    gone = [name for name in _named_files(session) if not (settings.data_folder / name).exists()]
    return Found(len(gone), gone[0] if gone else "")


def _ownerless(session: Session, settings: Settings) -> Found:
    owned = set(session.execute(select(col(Run.folder))).scalars())
    folder = settings.data_folder / _RUNS
    folders = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    left = [path for path in folders if f"{_RUNS}/{path.name}" not in owned and _is_a_runs(path)]
    return Found(len(left), str(left[0]) if left else "")


def _is_a_runs(path: Path) -> bool:
    """Whether the folder has the name of a run's folder. Others belong to users."""
    return path.name.partition("-")[0].isdigit()


FILES = (
    Check(
        id="missing-files",
        title="Files that the database refers to",
        find=_missing,
        advice="Restore them from a backup, or delete the run ('hedgerow runs delete ID').",
    ),
    Check(
        id="ownerless-folders",
        title="Folders of runs that are not in the database",
        find=_ownerless,
        advice="Check them, and delete those that nobody needs.",
    ),
)

CHECKS: tuple[Check, ...] = (
    *kept_values.DAMAGE,
    *kept_values.CHECKS,
    *FILES,
    *LEFTOVERS,
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
    require(TeamRole.LEAD)
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


# -- The run that checks a project. The Settings page starts it -----------------------------------


KIND = "check"


def work(context: RunContext) -> dict[str, Any]:
    """Run all checks, and repairs if the parameter ``repair`` is true."""
    return check_project(
        context.engine,
        context.settings,
        repair=context.parameters["repair"],
        report=context.update,
    ).facts
