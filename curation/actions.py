"""Actions: what people do by a form, a command or a call from Python.

An action has one request, which is validated once, and one function that does what the request
says. Where it pays it also has a plan: what the function would do, found out by reading only. The
plan is the page's preview, the command's ``--dry-run`` and Python's ``dry_run``.

The function belongs to the folder that does the work. Its faces (a page, a command, a method in
Python) fill in the request and show the result; they have no rules of their own. Decisions on
variants are not actions: they stay plain functions on the shortest path from a key press.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.decisions.roles import require
from db import Report
from db.models import TeamRole
from db.settings import Settings


class Request(BaseModel):
    """The fields of an action. Their docstrings are the help of options and form fields.

    Data (bytes, a table) is not a field: it is passed to the plan next to the request.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )


def _nobody(_: Session) -> int | None:
    return None


def silent(_step: int, _total: int, _message: str) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class OpenProject:
    """The project in which an action happens. The action opens its own transactions.

    Attributes:
        author: the id of the person who acts, or None if nobody gave a name; called in a writing
            session, since a new name becomes a reviewer.
        keys: keys and access tokens that the person has entered, as environment variables for the
            process of a run; they are never stored.
        report: is told the progress of a plan or an action that takes long.
    """

    settings: Settings
    engine: Engine
    author: Callable[[Session], int | None] = _nobody
    report: Report = silent
    keys: Mapping[str, str] = field(default_factory=dict)


Wanted = TypeVar("Wanted")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Action(Generic[Wanted, Result]):
    """Something that people do in a project.

    Attributes:
        name: a verb phrase, such as 'add anchors'.
        request: its fields.
        do: carries out a request, or a plan that already has everything it needs. Work that takes
            long is stored as a run, which the face starts in its own way.
        plan: takes the project, a request and the data, and only reads.
        least: the least role that may do it.
    """

    name: str
    request: type[BaseModel]
    do: Callable[[OpenProject, Wanted], Result]
    plan: Callable[..., object] | None = None
    least: TeamRole = TeamRole.LEAD

    def perform(self, project: OpenProject, wanted: Wanted) -> Result:
        """Check the role of the person who acts, then act.

        Raises:
            HedgerowError: the role is too low, or as the action says.
        """
        require(self.least)
        return self.do(project, wanted)
