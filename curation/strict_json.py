"""Strict JSON parsing: ambiguous input is refused with a reason."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

LONGEST_ITEM = 4 * 1024 * 1024
"""Maximum characters in an item of a long list."""

_BETWEEN = re.compile(r"[\s,]*")


class JsonError(ValueError):
    """A text is not acceptable as JSON; the message says why in a few words.

    Attributes:
        line: the line number, from 1.
    """

    def __init__(self, reason: str, line: int = 1) -> None:
        super().__init__(reason)
        self.line = line


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
    try:
        return json.loads(text, object_pairs_hook=_object)
    except JsonError:
        raise
    except json.JSONDecodeError as error:
        raise JsonError(_why(error), error.lineno) from error
    except RecursionError as error:
        raise JsonError("nested too deeply") from error
    except ValueError as error:  # Python's limit for the digits of a whole number
        raise JsonError("a number with too many digits") from error


def read_json_list(pieces: Iterable[str]) -> Iterator[Any]:
    """Yield the objects in a JSON list that is too long for memory, one by one.

    Args:
        pieces: the text, split anywhere between two characters.

    Raises:
        JsonError: it is not a list of objects, or is incomplete; or as in ``read_json`` for an
            item.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_object)
    rest = _Rest(iter(pieces))
    if rest.next() != "[":
        raise JsonError("no list")
    rest.place += 1
    while (begin := rest.next()) != "]":
        if begin != "{":
            raise JsonError(
                "an element of the list is not an object" if begin else "the list does not end"
            )
        try:
            value, rest.place = decoder.raw_decode(rest.text, rest.place)
        except JsonError:
            raise
        except json.JSONDecodeError as error:
            if len(rest.text) - rest.place > LONGEST_ITEM or not rest.add():
                raise JsonError(_why(error)) from error
        except RecursionError as error:
            raise JsonError("nested too deeply") from error
        except ValueError as error:
            raise JsonError("a number with too many digits") from error
        else:
            yield value


def _why(error: json.JSONDecodeError) -> str:
    """Return Python's message without the 'at' that precedes a position."""
    return re.sub(r"( starting)? at$", "", error.msg)


class _Rest:
    """The rest of a text that comes in pieces."""

    def __init__(self, pieces: Iterator[str]) -> None:
        self.text, self.place = "", 0
        self._pieces = pieces

    def next(self) -> str:
        """Return the next character except white space and commas; '' at the end."""
        while True:
            found = _BETWEEN.match(self.text, self.place)
            self.place = found.end() if found else self.place
            if self.place < len(self.text):
                return self.text[self.place]
            if not self.add():
                return ""

    def add(self) -> bool:
        """Read more of the text, at least as much as is buffered; return False at its end."""
        rest = self.text[self.place :]
        more: list[str] = []
        length, wanted = 0, max(len(rest), 1 << 16)
        while length < wanted and (piece := next(self._pieces, None)) is not None:
            more.append(piece)
            length += len(piece)
        self.text, self.place = rest + "".join(more), 0
        return bool(more)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        keys = [key for key, _ in pairs]
        raise RepeatedKey(next(key for key in keys if keys.count(key) > 1))
    return record
