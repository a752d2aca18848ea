"""The definition of a check: how to find problems, and how to repair them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy.orm import Session

from db.settings import Settings


class Found(NamedTuple):
    """The number of problems, and one of them.

    Attributes:
        ids: the ids of the rows, if a repair needs them.
    """

    number: int = 0
    example: str = ""
    ids: tuple[int, ...] = ()


Find = Callable[[Session, Settings], Found]
Repair = Callable[[Session, Found], None]


@dataclass(frozen=True, kw_only=True)
class Check:
    """One check.

    Attributes:
        id: the name for scripts.
        title: what is checked, for people.
        find: finds problems without changing anything.
        repair: repairs all problems; None if only a person can.
        advice: what that person has to do.
        harmless: whether the findings are not problems.
    """

    id: str
    title: str
    find: Find
    repair: Repair | None = None
    advice: str = ""
    harmless: bool = False
