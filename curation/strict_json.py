"""Strict JSON parsing: ambiguous input is refused with a reason."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class JsonError(ValueError):
    """A text is not acceptable as JSON; the message says why in a few words.

    Attributes:
        line: the line number, from 1.
        position: where the error was found.
    """

    def __init__(self, reason: str, line: int = 1, position: int = 0) -> None:
        super().__init__(reason)
        self.line, self.position = line, position


class RepeatedKey(JsonError):
    """A key occurs twice in one object, so its value is ambiguous.

    Attributes:
        key: the repeated key.
    """

    def __init__(self, key: str) -> None:
        super().__init__(f"the key {key[:80]!r} occurs twice in one object")
        self.key = key


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
        raise RepeatedKey(next(key for key in keys if keys.count(key) > 1))
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=_object)
