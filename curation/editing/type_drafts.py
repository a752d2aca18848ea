"""A variant type entered by a person, checked before it is stored.

All checks are made here. A refusal changes nothing and gives the reason in one sentence.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from curation.content_uids import at_most, canonical
from curation.diagnostics.surface import check_surface
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.cues import cue_list, known_cue
from curation.taxonomy.guideline import made_guideline
from curation.taxonomy.surface_check import Role, SurfaceCheck
from db.errors import HedgerowError

MAX_NAME, MAX_DEFINITION, MAX_EXAMPLE = 40, 1000, 2000
MAX_PROMPT_LINE, MAX_GUIDELINE = 600, 20_000
"""Maximum lengths of a type's texts, in characters."""

MAX_ENTRIES, MAX_ENTRY = 300, 60
"""Maximum entries in a list of words or affixes, and maximum characters in an entry."""

_LONGEST_ID = 36
_TAKEN_NAMES = frozenset({"all", "types", "type"})
_WORD_LISTS = ("require_words", "forbid_words")
_AFFIX_LISTS = ("negative_prefixes", "negative_suffixes")


class OwnType(BaseModel):
    """The fields of a type that a person fills in.

    Attributes:
        label: the name. The id is derived from it when the type is added, and never changes.
        prompt_line: the line that asks a model for it; '' derives it from name and definition.
        surface_check: for a hedge with a cue, ``require_words`` are the cues to request; if empty,
            the paper's cues are used.
        guideline: in the format that ``guideline.py`` reads; '' derives it from definition and
            example.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    label: str
    role: Role
    definition: str
    example_anchor: str
    example: str
    prompt_line: str = ""
    surface_check: SurfaceCheck = SurfaceCheck()
    guideline: str = ""


class Tried(NamedTuple):
    """The result of a surface check on a sentence.

    Attributes:
        cue: the type's cue that the sentence uses, for a type with cues.
        problems: one sentence each; empty if there are none.
    """

    cue: str | None
    problems: list[str]


def read_check(values: Mapping[str, Any]) -> SurfaceCheck:
    """Make a surface check from these values.

    Raises:
        HedgerowError: there is no such field, or two fields contradict each other.
    """
    try:
        return SurfaceCheck.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        request = first["msg"].removeprefix("Value error, ")
        where = f" in '{field}'" if field else ""
        raise HedgerowError(f"The surface check cannot be used{where}: {request}.") from None


def draft(wanted: OwnType, others: Sequence[VariantType], *, type_id: str = "") -> VariantType:
    """Return the type as it would be stored, fully checked.

    Args:
        others: all existing types, including retired ones.
        type_id: the id of the type to change; '' for a new one.

    Raises:
        HedgerowError: the type is not valid; the message says why in one sentence.
    """
    clean = _cleaned(wanted)
    rest = [entry for entry in others if entry.id != type_id]
    _refuse_known_name(clean.label, rest)
    entry = _as_type(clean, type_id or free_id(clean.label, {other.id for other in rest}))
    _check_prompt_line(entry)
    tried = try_out(entry, anchor=entry.example_anchor, text=entry.example)
    if tried.problems:
        raise HedgerowError(
            f"The example does not pass the surface check: {' '.join(tried.problems)} Change the "
            "example or the check."
        )
    return entry


def try_out(entry: VariantType, *, anchor: str, text: str) -> Tried:
    """Apply a type's surface check to a sentence made from an anchor."""
    cue = known_cue(text, cue_list(entry)) if entry.needs_cue else None
    if entry.needs_cue and cue is None:
        return Tried(None, ["It has none of the cues of this type."])
    return Tried(cue, check_surface(entry.surface_check, anchor=anchor, text=text, cue=cue))


def free_id(label: str, taken: Collection[str]) -> str:
    """Derive an id that no type has from a name: 'Scalar "only"' gives scalar_only."""
    ascii_only = unicodedata.normalize("NFKD", label).encode("ascii", "ignore").decode().lower()
    words = "_".join(re.findall(r"[a-z0-9]+", ascii_only))[:_LONGEST_ID].strip("_")
    # The ids are field names in answers, so they must not clash with pydantic's own.
    is_taken = words in _TAKEN_NAMES or words.startswith("model_") or hasattr(BaseModel, words)
    if is_taken or not words[:1].isalpha():
        words = f"type_{words}"[:_LONGEST_ID].strip("_")
    number, found = 1, words
    while found in taken:
        number += 1
        found = f"{words[: _LONGEST_ID - len(str(number)) - 1].rstrip('_')}_{number}"
    return found


def _cleaned(wanted: OwnType) -> OwnType:
    """Return the fields in canonical form.

    Raises:
        HedgerowError: a text is missing, too long or not plain, or the check contradicts the role.
    """
    label = _text(wanted.label, "a name", MAX_NAME, least=2)
    definition = _text(wanted.definition, "a definition", MAX_DEFINITION, least=10)
    anchor = _text(wanted.example_anchor, "an example anchor", MAX_EXAMPLE)
    example = _text(wanted.example, "an example", MAX_EXAMPLE)
    if example.casefold() == anchor.casefold():
        raise HedgerowError("The example is the same as its anchor; write a variant of the type.")
    check = _clean_check(wanted.surface_check)
    if check.require_cue and wanted.role != "hedge":
        raise HedgerowError(
            f"Only hedges can have hedge cues, and this type is a {wanted.role}; change the role, "
            "or remove the cues."
        )
    return OwnType(
        label=label,
        role=wanted.role,
        definition=definition,
        example_anchor=anchor,
        example=example,
        prompt_line=_text(wanted.prompt_line, "a prompt line", MAX_PROMPT_LINE, least=0),
        surface_check=check,
        guideline=_paragraphs(wanted.guideline),
    )


def _text(text: str, what: str, most: int, *, least: int = 1) -> str:
    clean = canonical(text)
    if not least <= len(clean) <= most:
        if not clean:
            raise HedgerowError(f"Enter {what} of {least} to {most} characters.")
        raise HedgerowError(
            f"Expected {what} of {least} to {most} characters, found {len(clean)}; "
            f"{'shorten' if len(clean) > most else 'lengthen'} it."
        )
    return clean


def _paragraphs(text: str) -> str:
    """Return a guideline with each line in canonical form."""
    clean = "\n".join(canonical(line) for line in text.splitlines()).strip()
    return at_most(MAX_GUIDELINE, clean, "a guideline")


def _clean_check(check: SurfaceCheck) -> SurfaceCheck:
    """Return the check with its lists in canonical form, without duplicates."""
    lists = {name: _entries(getattr(check, name), name) for name in (*_WORD_LISTS, *_AFFIX_LISTS)}
    for name in _AFFIX_LISTS:
        lists[name] = tuple(dict.fromkeys(entry.strip("-").lower() for entry in lists[name]))
        if wrong := [entry for entry in lists[name] if not entry.isalpha()]:
            raise HedgerowError(
                f"Expected affixes of letters such as 'un' or 'less', found '{wrong[0]}'; correct "
                "it."
            )
    rules = [
        {name: _entries(entries, "forbid_words_unless") for name, entries in rule}
        for rule in check.forbid_words_unless
    ]
    return read_check(check.model_dump() | lists | {"forbid_words_unless": rules})


def _entries(entries: Sequence[str], name: str) -> tuple[str, ...]:
    clean = tuple(dict.fromkeys(canonical(entry) for entry in entries))
    if len(clean) > MAX_ENTRIES or any(not 0 < len(entry) <= MAX_ENTRY for entry in clean):
        raise HedgerowError(
            f"Expected at most {MAX_ENTRIES} entries of 1 to {MAX_ENTRY} characters in "
            f"'{name}', found {len(clean)} of up to {max(map(len, clean))}; shorten the list."
        )
    return clean


def _refuse_known_name(label: str, others: Sequence[VariantType]) -> None:
    """Refuse a name that another type has, because a model may answer with a type's name."""
    name = label.casefold()
    for entry in others:
        if name in (entry.label.casefold(), entry.id, entry.id.replace("_", " ")):
            what = "a retired type; restore it, or" if entry.retired else "already a type;"
            raise HedgerowError(f"'{label}' is {what} choose another name.")


def _as_type(clean: OwnType, type_id: str) -> VariantType:
    made = made_guideline(
        definition=clean.definition, anchor=clean.example_anchor, example=clean.example
    )
    return VariantType(
        id=type_id,
        order=0,
        label=clean.label,
        role=clean.role,
        definition=clean.definition,
        example_anchor=clean.example_anchor,
        example=clean.example,
        prompt_line=clean.prompt_line or made_prompt_line(clean),
        surface_check=clean.surface_check,
        guideline=clean.guideline or made,
        version=1,
        own=True,
    )


def sketch(wanted: OwnType) -> VariantType:
    """Return an unfinished, unchecked type for trying out its check.

    Raises:
        HedgerowError: a text is not plain, or the check's lists are not valid.
    """
    texts = ("label", "definition", "example_anchor", "example", "prompt_line")
    clean: dict[str, Any] = {name: canonical(getattr(wanted, name)) for name in texts}
    clean["surface_check"] = _clean_check(wanted.surface_check)
    return _as_type(wanted.model_copy(update=clean), free_id(clean["label"], ()))


def as_written(entry: VariantType) -> OwnType:
    """Return the fields that a person filled in; derived ones are left empty."""
    wanted = OwnType(**entry.model_dump(include={*OwnType.model_fields}))
    made = _as_type(wanted.model_copy(update={"prompt_line": "", "guideline": ""}), entry.id)
    same = {
        name: ""
        for name in ("prompt_line", "guideline")
        if getattr(made, name) == getattr(entry, name)
    }
    return wanted.model_copy(update=same)


def made_prompt_line(wanted: OwnType) -> str:
    """Return the line that asks a model for a type without a prompt line."""
    request = f"{canonical(wanted.label)}: {canonical(wanted.definition)}"
    if not wanted.surface_check.require_cue:
        return request
    return f"{request.rstrip('.')}, with a cue such as {{cue}}"


def _check_prompt_line(entry: VariantType) -> None:
    found = entry.prompt_line.count("{cue}")
    if entry.needs_cue and found != 1:
        raise HedgerowError(
            f"Expected {{cue}} once in the prompt line, found it {found} times; it stands for the "
            "cue."
        )
    if found and not entry.needs_cue:
        raise HedgerowError(
            "The prompt line has {cue}, but the type has no hedge cues; remove it, or turn on "
            "hedge cues."
        )
