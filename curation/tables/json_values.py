"""Read the records of JSON files: one object per line, a list of objects, or an object with one."""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain, islice
from typing import Any

from curation.tables.files import MAX_LINE
from curation.tables.plain import SENTENCE_NAMES
from db.errors import HedgerowError


class JsonError(ValueError):
    """A text is not acceptable as JSON; the message says why in a few words.

    Attributes:
        line: the line number, from 1.
        position: where the error was found.
    """

    def __init__(self, reason: str, line: int = 1, position: int = 0) -> None:
        super().__init__(reason)
        self.line, self.position = line, position


def read_json(text: str) -> Any:
    """Parse a JSON text.

    Raises:
        JsonError: it is not JSON, repeats a key, is nested too deeply, or contains too long a
            number.
    """
    with _refused():
        return _DECODER.decode(text)


def read_json_at(text: str, place: int) -> tuple[Any, int]:
    """Parse the JSON value that begins at this place; return it and the place after it.

    Raises:
        JsonError: as in ``read_json``.
    """
    with _refused(place):
        return _DECODER.raw_decode(text, place)


@contextmanager
def _refused(begin: int = 0) -> Iterator[None]:
    try:
        yield
    except JsonError:
        raise
    except json.JSONDecodeError as error:
        # Python's message has an 'at' before the position.
        reason = re.sub(r"( starting)? at$", "", error.msg)
        line = 1 + error.doc.count("\n", begin, error.pos)
        raise JsonError(reason, line, error.pos) from error
    except RecursionError as error:
        raise JsonError("nested too deeply") from error
    except ValueError as error:  # Python's limit for the digits of a whole number
        raise JsonError("a number with too many digits") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise JsonError(f"the key {repeated[:80]!r} occurs twice in one object")
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


LONGEST = 64 * 1024 * 1024
"""Maximum characters of one object."""

_BETWEEN = re.compile(r"[\s,]*")
_NO_COMMA = re.compile(r"(?<=['\"])\s+(?=['\"])")
"""Between the strings of an array of NumPy."""

_MAY_CONTINUE = 10
"""An error so close to the end of the text read so far may be a value that continues."""

Cells = dict[str, Any]
Numbered = Iterator[tuple[int, Any]]


def records(pieces: Iterable[str], name: str) -> tuple[str, Iterator[tuple[int, Cells]]]:
    """What is counted ('line' or 'record'), and each record with its number.

    A text in place of an object becomes a record with the column *text*.

    Args:
        pieces: the file's text.

    Raises:
        HedgerowError: it is not JSON, or contains something else than objects; the message says
            where. Mostly raised while reading.
    """
    rest = _Rest(iter(pieces))
    if rest.next() == "[":
        rest.place += 1
        return "record", _objects(_listed(rest, name), "record", name)
    values = _in_lines(rest, name)
    head = list(islice(values, 2))
    inside = _records_in(head[0][1], name) if len(head) == 1 else None
    if inside is not None:
        return "record", _objects(enumerate(inside, 1), "record", name)
    return "line", _objects(chain(head, values), "line", name)


def _objects(values: Numbered, unit: str, name: str) -> Iterator[tuple[int, Cells]]:
    for number, value in values:
        if isinstance(value, str):
            value = {"text": value}
        if not isinstance(value, dict):
            raise HedgerowError(
                f"Expected a JSON object on {unit} {number:,} of {name}, found "
                f'{kind_of(value)}; write {{"text": "…"}}.'
            )
        yield number, value


def _in_lines(rest: "_Rest", name: str) -> Numbered:
    """The values of JSON Lines, which may also span lines."""
    while rest.next():
        line = rest.line
        try:
            yield line, rest.value()
        except JsonError as error:
            raise HedgerowError(
                f"Expected one JSON object on line {line:,} of {name}, found "
                f"invalid JSON ({error}); put one object on each line, or all objects in one list."
            ) from None


def _listed(rest: "_Rest", name: str) -> Numbered:
    number = 0
    try:
        while (begin := rest.next()) != "]":
            if not begin:
                raise JsonError("the list does not end")
            number += 1
            yield number, rest.value()
        rest.place += 1
        if rest.next():
            raise HedgerowError(
                f"Expected one list of JSON objects, or an object on each line, found more after a "
                f'list in {name}; write objects such as {{"text": "…"}}.'
            )
    except JsonError as error:
        raise HedgerowError(
            f"Expected a list of JSON objects, but {name} is broken at record {number:,} "
            f"({error}); write it again."
        ) from None


def _records_in(value: object, name: str) -> list[Any] | None:
    """The records in the only object of a file: a table by columns, or the list in it. None if the
    object is itself a record."""
    if not isinstance(value, dict) or not value:
        return None
    names, rows = value.get("columns"), value.get("data")
    if isinstance(names, list) and isinstance(rows, list):  # pandas, orient="split"
        return [dict(zip(map(str, names), row, strict=False)) for row in rows]
    columns = [each for each in value.values() if isinstance(each, list | dict)]
    if len(columns) == len(value) and (rows := _by_label(value) or _by_column(value)) is not None:
        return rows
    is_record = (
        any(isinstance(value.get(name), str) for name in SENTENCE_NAMES)
        or any(isinstance(value.get(name), dict) for name in ("fields", "task"))
        or value.keys() >= {"data", "annotations"}  # a task of a tool
    )
    if is_record:
        return None
    lists = _lists(value)
    if len(lists) > 1:
        raise HedgerowError(
            f"Expected one list of records in {name}, found several "
            f"({', '.join(map(repr, list(lists)[:8]))}); save the right one as a file of its own."
        )
    return next(iter(lists.values()), None)


def _lists(value: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The lists of objects in an object, or else those in the objects inside, by their places."""
    found = {
        key: each
        for key, each in value.items()
        if isinstance(each, list) and each and all(isinstance(one, dict) for one in each)
    }
    inside = [(key, each) for key, each in value.items() if isinstance(each, dict)]
    return found or {
        f"{key}.{name}": rows for key, each in inside for name, rows in _lists(each).items()
    }


def _by_label(value: Mapping[str, Any]) -> list[Cells] | None:
    """The rows of an object of objects, each with its label. None if these are columns: their keys
    are numbers, or only the labels are names of columns."""
    rows = [each for each in value.values() if isinstance(each, dict)]
    keys = {key.casefold() for each in rows for key in each}
    has_texts = all(any(isinstance(cell, str) for cell in each.values()) for each in rows)
    is_by_column = all(map(str.isdigit, keys)) or (
        not keys & {*SENTENCE_NAMES} and {*map(str.casefold, value)} & {*SENTENCE_NAMES}
    )
    if len(rows) < len(value) or not has_texts or is_by_column:
        return None
    return [{"index": label, **each} for label, each in value.items()]


def _by_column(value: Mapping[str, Any]) -> list[Cells] | None:
    """The rows of an object of columns, which are lists of one length or objects with the same
    keys, as pandas writes them."""
    columns = [list(each.values() if isinstance(each, dict) else each) for each in value.values()]
    keys = {tuple(each) for each in value.values() if isinstance(each, dict)}
    scalars = all(not isinstance(cell, list | dict) for column in columns for cell in column)
    if not scalars or len(keys) > 1 or len({len(column) for column in columns}) != 1:
        return None
    return [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)]


def unpacked(value: Any) -> Any:
    """The list or object that a cell of a table contains, as JSON or as Python writes it."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        for read in (json.loads, ast.literal_eval):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                found = read(value if read is json.loads else _NO_COMMA.sub(", ", value))
                return found if isinstance(found, list | dict) else value
    return value


def kind_of(value: object) -> str:
    """What kind of JSON value this is, for a message."""
    kinds = {bool: "true or false", int: "a number", float: "a number", list: "a list"}
    return kinds.get(type(value), "null" if value is None else "an object")


class _Rest:
    """The rest of a text that comes in pieces.

    Attributes:
        line: the line of ``place``, from 1.
    """

    def __init__(self, pieces: Iterator[str]) -> None:
        self.text, self.place, self.line = "", 0, 1
        self._pieces = pieces

    def next(self) -> str:
        """The next character except white space and commas; '' at the end."""
        while True:
            found = _BETWEEN.match(self.text, self.place)
            self._go(found.end() if found else self.place)
            if self.place < len(self.text):
                return self.text[self.place]
            if not self._add():
                return ""

    def value(self) -> Any:
        """Read one value.

        Raises:
            JsonError: it is not JSON, or longer than ``LONGEST``.
        """
        while True:
            try:
                value, end = read_json_at(self.text, self.place)
            except JsonError as error:
                left = len(self.text) - error.position
                is_string = str(error).startswith("Unterminated")
                if left > (MAX_LINE if is_string else _MAY_CONTINUE):
                    raise
                if len(self.text) - self.place > LONGEST or not self._add():
                    raise
            else:
                self._go(end)
                return value

    def _go(self, place: int) -> None:
        self.line += self.text.count("\n", self.place, place)
        self.place = place

    def _add(self) -> bool:
        """Read more of the text, at least as much as is buffered; False at its end."""
        rest = self.text[self.place :]
        more: list[str] = []
        length, wanted = 0, max(len(rest), 1 << 16)
        while length < wanted and (piece := next(self._pieces, None)) is not None:
            more.append(piece)
            length += len(piece)
        self.text, self.place = rest + "".join(more), 0
        return bool(more)


def cell_text(value: Any) -> str:
    """Return a cell as text: numbers as digits, several values separated by semicolons."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return "; ".join(filter(None, map(cell_text, value)))
    if value is None or isinstance(value, dict):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
