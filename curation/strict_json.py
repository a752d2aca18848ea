"""JSON that people and programs hand in: what is ambiguous is refused, and why is said in words."""

import json
from typing import Any


class JsonError(ValueError):
    """Says in a few words why a text is not taken as JSON.

    Attributes:
        line: where, from 1.
    """

    def __init__(self, reason: str, line: int = 1) -> None:
        super().__init__(reason)
        self.line = line


class RepeatedKey(JsonError):
    """A key that stands twice in one object: which one is meant, nobody knows.

    Attributes:
        key: that key.
    """

    def __init__(self, key: str) -> None:
        super().__init__(f"the key {key[:80]!r} stands twice in one object")
        self.key = key


def read_json(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        JsonError: it is no JSON, repeats a key, is nested too deep, or holds too long a number.
    """
    try:
        return json.loads(text, object_pairs_hook=_object)
    except JsonError:
        raise
    except json.JSONDecodeError as error:
        raise JsonError(error.msg, error.lineno) from error
    except RecursionError as error:
        raise JsonError("nested too deep") from error
    except ValueError as error:  # Python's limit for the digits of a whole number
        raise JsonError("a number of too many digits") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        keys = [key for key, _ in pairs]
        raise RepeatedKey(next(key for key in keys if keys.count(key) > 1))
    return record
