"""What recipes of all kinds have in common: their values as people type them, files, and errors."""

import difflib
import hashlib
import json
import re
import reprlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from db.errors import HedgerowError
from db.named_files import read_text


class ReadableRecipe(BaseModel):
    """The base class of recipes. Every constructor checks the values and raises HedgerowError in
    one sentence.

    A subclass has the field ``version``, and below its other validators: ``_one_sentence =
    model_validator(mode="wrap")(in_one_sentence)``. The last one that is defined goes around them.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        str_strip_whitespace=True,
        use_attribute_docstrings=True,  # the page shows them as help
    )

    format: ClassVar[int]
    """The version of the format that this version of Hedgerow reads."""

    @property
    def hash(self) -> str:
        """SHA-256 (64 hex digits) of the content; equal recipes have equal hashes."""
        content = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(content.encode()).hexdigest()

    def to_yaml(self) -> str:
        """The recipe as YAML text with every key, in the order of the fields."""
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True)

    def with_overrides(self, assignments: Sequence[str]) -> Self:
        """A copy with `key=value` texts applied in order, as from `--set`. 'none' means no limit or
        no value.

        Raises:
            HedgerowError: an assignment has no '=', an unknown key or a wrong value.
        """
        return self.model_validate({**self.model_dump(), **changes_in(assignments)})


def in_one_sentence(cls: type[ReadableRecipe], data: Any, handler: Callable[[Any], Any]) -> Any:
    """A validator around all others, which raises HedgerowError instead of pydantic's error."""
    if isinstance(data, Mapping):
        refuse_other_version(data, expected=cls.format)
        refuse_unknown(data, known=cls.model_fields)
    try:
        return handler(data)
    except ValidationError as error:
        raise HedgerowError(sentence(error)) from error


# -- Errors in a recipe as one sentence -----------------------------------------------------------


def refuse_other_version(values: Mapping[str, Any], *, expected: int) -> None:
    """Refuse the values of a recipe that another version of Hedgerow wrote."""
    version = values.get("version", expected)
    if str(version) == str(expected):
        return
    why = "a newer version needs a newer Hedgerow."
    if str(version).isdecimal() and int(version) < expected:
        why = "an older Hedgerow wrote it, so start from a preset and set its values again."
    raise HedgerowError(f"The recipe has version {shown(version)}, expected {expected}; {why}")


def refuse_unknown(values: Mapping[str, Any], *, known: Collection[str]) -> None:
    """Refuse an unknown key; the message suggests a similar one, or lists all."""
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"its keys are {', '.join(known)}."
            raise HedgerowError(f"The recipe has no key {shown(key)}; {hint}")


def sentence(error: ValidationError) -> str:
    """All errors of a recipe, in one sentence."""
    parts = []
    for detail in error.errors(include_url=False):
        problem = detail["msg"].removeprefix("Value error, ")
        if detail["loc"]:
            problem = problem.removeprefix("Input ").removeprefix("String ")
            place, *within = detail["loc"]
            of = f" of {shown(within[0])}" if within and isinstance(within[0], str) else ""
            parts.append(f"{place}{of} {problem}, found {shown(detail['input'])}")
        else:
            parts.append(problem)
    return f"The recipe is not valid: {'; '.join(parts)}."


def shown(value: object) -> str:
    """A value as shown in a message: quoted and shortened."""
    return reprlib.repr(value)


# -- Changes of a recipe as `--set` takes them: key=value -----------------------------------------


def changes_in(assignments: Sequence[str]) -> dict[str, str | None]:
    """The values by key. The last value of a key counts; 'none' means no limit, or no value.

    Raises:
        HedgerowError: an assignment without '='.
    """
    changes: dict[str, str | None] = {}
    for assignment in assignments:
        key, equals, value = (part.strip() for part in assignment.partition("="))
        if not key or not equals:
            raise HedgerowError(f"Expected key=value, such as epochs=1, found {shown(assignment)}.")
        changes[key] = None if value.lower() in {"none", "null"} else value
    return changes


# -- Weights of named things, as a line: 'word:0.5,verbal:0' --------------------------------------


_ENTRY = re.compile(r"(?P<name>.+?):(?P<weight>[^,:]*)(?:,|$)", re.DOTALL)
"""A name may contain colons and commas: it ends before a weight and a comma, or at the end."""


def weights_in(line: str) -> dict[str, str]:
    """The weight of each name in a line, as text; {} for an empty line.

    Raises:
        ValueError: the line is not a list of 'name:weight' separated by commas, or has a name
            twice.
    """
    found: dict[str, str] = {}
    place = 0
    while line[place:].strip():
        entry = _ENTRY.match(line, place)
        if entry is None:
            raise ValueError("expected name:weight, separated by commas, such as word:0.5,verbal:0")
        name = entry["name"].strip()
        if name in found:
            raise ValueError(f"expected each name once, found {name[:80]!r} twice")
        found[name] = entry["weight"].strip()
        place = entry.end()
    return found


# -- Reading the values of a recipe from YAML files or text ---------------------------------------


LARGEST = 64 * 1024
"""Maximum size in bytes or characters. A recipe has a few lines, so a larger file is something
else."""


def read_values(path: Path) -> dict[str, Any]:
    """The keys and values of a recipe of any kind in a YAML file.

    Raises:
        HedgerowError: the file can't be read, or as in `parse_values`.
    """
    text = read_text(path, kind="a recipe", largest=LARGEST)
    return parse_values(text, name=f"the recipe {str(path)!r}")


def parse_values(text: str, *, name: str = "the recipe") -> dict[str, Any]:
    """The keys and values of a recipe of any kind in a YAML text.

    Args:
        name: what messages call it.

    Raises:
        HedgerowError: the text is too long, is not YAML, or has no keys with values.
    """
    if len(text) > LARGEST:
        raise HedgerowError(f"{_first_up(name)} is too long; expected a few lines of 'key: value'.")
    try:
        values = yaml.load(text, Loader=_OnceEach)
    except _Repeated as error:
        raise HedgerowError(f"{_first_up(name)} {error}; remove one of them.") from None
    except _Alias as error:
        raise HedgerowError(
            f"{_first_up(name)} has the alias {str(error)[:80]!r}; expected plain values; "
            "replace the alias with its value."
        ) from None
    # Python raises ValueError for an impossible number or date. Brackets may be nested without end.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" at line {mark.line + 1}" if mark else ""
        raise HedgerowError(
            f"{_first_up(name)} is not valid YAML{line}; expected lines such as 'epochs: 1'."
        ) from error
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise HedgerowError(f"Expected 'key: value' lines in {name}, such as 'epochs: 1'.")
    if odd := next((key for key, value in values.items() if "\0" in f"{key}{value}"), None):
        raise HedgerowError(f"Expected text in {name}, found a null character in {odd[:80]!r}.")
    return values


class _Repeated(Exception):
    """Raised for a repeated key."""

    def __init__(self, key: yaml.ScalarNode) -> None:
        super().__init__(f"has the key {key.value[:80]!r} twice, on line {key.start_mark.line + 1}")


class _Alias(Exception):
    """Raised for an alias for another value. A few nested aliases can expand to millions of
    values."""


class _OnceEach(yaml.SafeLoader):
    """YAML of plain values, without aliases and repeated keys."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise _Alias(f"*{self.peek_event().anchor}")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise _Repeated(key)
                seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def _first_up(name: str) -> str:
    return name[:1].upper() + name[1:]
