"""Reading benchmark files, local or on the model hub, also when it can't be reached."""

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from curation.encoders.model_folders import NO_HUB, unreachable
from curation.tables.columns import named
from curation.tables.json_values import kind_of
from curation.tables.table import open_bytes
from db.errors import HedgerowError
from db.named_files import expanded, read_bytes, read_text

HUB = "hf:"
"""The prefix of owner/name/file of a data set on the model hub."""

LARGEST_FILE = 500 * 1024 * 1024
"""Maximum size of a file in bytes. ExcluIR's corpus, the largest known, has a tenth of it."""

_SHOWN = 60
Item = TypeVar("Item")


class FileRecord(NamedTuple):
    """A row of a file.

    Attributes:
        where: for messages, such as "line 3 of 'test.jsonl'".
    """

    where: str
    values: Mapping[str, Any]

    def text(self, *names: str) -> str:
        """The text in the first of these columns that exists, stripped of whitespace.

        Raises:
            HedgerowError: none of the columns exists, or the value is not a text.
        """
        value = self.value(*names)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(f"a text in {_quoted(names)}", value)
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise HedgerowError(
                f"Expected a text in {_quoted(names)} on {self.where}, found half a character (a "
                "lone surrogate)."
            )
        return value.strip()

    def key(self, name: str, number: int) -> str:
        """The id in this column; the number of the row if there is none."""
        column = named(list(self.values), [name])
        return str(number if column is None else self.values[column])

    def number(self, name: str) -> float:
        """A finite number.

        Raises:
            HedgerowError: the column is missing or holds something else.
        """
        value = self.value(name)
        try:
            if isinstance(value, bool):
                raise ValueError
            number = float(value.replace(",", ".") if isinstance(value, str) else value)
            if number != number or number in (float("inf"), float("-inf")):
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            raise self.wrong(f"a number in {_quoted([name])}", value) from None
        return number

    def value(self, *names: str) -> Any:
        """The value of the first of these columns that exists; case does not matter.

        Raises:
            HedgerowError: none of the columns exists.
        """
        if (name := named(list(self.values), [name.casefold() for name in names])) is not None:
            return self.values[name]
        found = ", ".join(repr(str(name)[:_SHOWN]) for name in list(self.values)[:12]) or "none"
        raise HedgerowError(f"Expected {_quoted(names)} on {self.where}, found {found}.")

    def wrong(self, expected: str, found: object) -> HedgerowError:
        """The error for an unexpected value."""
        return HedgerowError(f"Expected {expected} on {self.where}, found {described(found)}.")


def described(value: object) -> str:
    """A description of a value for a message."""
    if isinstance(value, str):
        return repr(value[:_SHOWN]) if value.strip() else "an empty text"
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    return f"{value}" if isinstance(value, int | float) else kind_of(value)


def _quoted(names: Any) -> str:
    return " or ".join(f"'{name}'" for name in names)


def records(source: Path | str, *, expects: str) -> Iterator[FileRecord]:
    """The rows of a table in any format that ``curation.tables`` reads.

    Args:
        source: a path, or `HUB` and a place on the model hub.
        expects: the expected format, for messages.

    Raises:
        HedgerowError: the file can't be read or has another format.
    """
    path = local(source)
    content = read_bytes(path, kind="a benchmark", largest=LARGEST_FILE)
    if not content.strip(b"\xef\xbb\xbf \t\r\n"):
        raise nothing_in(source, expects=expects)
    try:
        for row in open_bytes(content, path.name).rows():
            yield FileRecord(row.place, row.cells)
    except HedgerowError as error:
        raise HedgerowError(f"Expected {expects}: {error}") from error


def decoded(path: Path) -> str:
    """The text of a file in UTF-8.

    Raises:
        HedgerowError: it can't be read, is too large, or is something else.
    """
    return read_text(path, kind="a benchmark", largest=LARGEST_FILE)


def local(source: Path | str) -> Path:
    """The path of a file. A file on the model hub is downloaded first.

    Raises:
        HedgerowError: the hub can't be reached, or there is no such file.
    """
    if not str(source).startswith(HUB):
        return expanded(source)
    # Loading the hub's client takes half a second, and a local file does not need it.
    from huggingface_hub import hf_hub_download  # noqa: PLC0415

    owner, _, rest = str(source).removeprefix(HUB).partition("/")
    name, _, file = rest.partition("/")
    if not (owner and name and file):
        raise HedgerowError(f"Expected {HUB}owner/name/file, found {str(source)!r}.")
    try:
        with asked_once():
            return Path(hf_hub_download(f"{owner}/{name}", file, repo_type="dataset"))
    except Exception as error:  # the hub's client and its HTTP library raise a dozen kinds
        what = f"{file!r} of the data set '{owner}/{name}'"
        if unreachable(error):
            raise HedgerowError(
                f"The file {what} {NO_HUB}; connect to the network, or use a file on this machine."
            ) from error
        raise HedgerowError(
            f"Could not get {what} from the model hub ({type(error).__name__}); check its name, "
            "or use a file on this machine."
        ) from error


def source_or_hub(source: Path | str, *, hub: str, title: str, address: str) -> Path | str:
    """The source that was named, or else the benchmark's place on the hub.

    Raises:
        HedgerowError: none was named, and the benchmark is on no hub.
    """
    if str(source):
        return source
    if not hub:
        raise HedgerowError(
            f"{title} is not on the model hub; download it from {address} and use the file."
        )
    return hub


def at_least_one(items: list[Item], source: Path | str, *, expects: str) -> list[Item]:
    """The items.

    Raises:
        HedgerowError: there are none.
    """
    if not items:
        raise nothing_in(source, expects=expects)
    return items


def nothing_in(source: Path | str, *, expects: str) -> HedgerowError:
    """The error for an empty file."""
    return HedgerowError(
        f"Expected {expects}, found nothing in {Path(source).name!r}; choose another file."
    )


# -- offline --------------------------------------------------------------------------------------
#
# Data from the model hub when it can't be reached: from the cache, or an error, without waiting.
#
# The hub's client would retry six times, for half a minute.


LOOK_UP_SECONDS = 10
"""Seconds to wait for any answer from the hub."""

logger = logging.getLogger(__name__)


@contextmanager
def asked_once() -> Iterator[bool]:
    """A context in which an unreachable hub isn't asked again, and only its cache is read.

    Yields whether the hub was reached.
    """
    from huggingface_hub import constants, get_session  # noqa: PLC0415

    if constants.is_offline_mode():
        yield False
        return
    try:
        get_session().head(constants.ENDPOINT, timeout=LOOK_UP_SECONDS)
    except Exception as error:  # the HTTP library raises a dozen kinds
        logger.info("the model hub can't be reached: %s", error)
    else:
        yield True
        return
    import datasets  # noqa: PLC0415

    constants.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE = True
    try:
        yield False
    finally:
        constants.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE = False


def in_cache(data_set: str) -> bool:
    """Whether a data set of the hub may be on this machine, at least in part.

    True if this is unknown: a data set made from others has no name on the hub.

    Args:
        data_set: owner/name.
    """
    if "/" not in data_set:
        return True
    import datasets  # noqa: PLC0415
    from huggingface_hub import constants  # noqa: PLC0415

    caches = (Path(constants.HF_HUB_CACHE), Path(datasets.config.HF_DATASETS_CACHE))
    names = [name for cache in caches if cache.is_dir() for name in os.listdir(cache)]
    wanted = _letters(data_set)
    return any(wanted in _letters(name) for name in names)


def _letters(name: str) -> str:
    """A name without the characters that caches write differently."""
    return "".join(filter(str.isalnum, name)).casefold()
