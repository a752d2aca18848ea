"""The definition of a check: how to find problems, and how to repair them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy.orm import Session

from db.settings import Settings


class Found(NamedTuple):
    """How many places are wrong, and one of them.

    Attributes:
        ids: of the rows, where a repair needs them.
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
        id: as scripts name it.
        title: what is looked at, for people.
        find: reads, and changes nothing.
        repair: puts right all that ``find`` finds; None where only a person can.
        advice: what that person does.
        harmless: what is found is no fault.
    """

    id: str
    title: str
    find: Find
    repair: Repair | None = None
    advice: str = ""
    harmless: bool = False
