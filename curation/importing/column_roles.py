"""The roles of the columns in a table of variants.

A role is one of ``ColumnRole``, or the id of a variant type for a column of variants of that type.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from curation.editing.own_types import CONTRADICTION, ENTAILMENT, ORIGINAL_TYPES
from curation.tables.columns import named
from curation.tables.delimited import listed, quoted
from curation.tables.plain import AMBIGUOUS, ATTRIBUTE_NAMES, HYPOTHESIS_NAMES, LABEL_NAMES
from curation.taxonomy.built_in import VariantType
from db.errors import HedgerowError


class ColumnRole(StrEnum):
    """The contents of a column."""

    ANCHOR = "anchor"
    TEXT = "text"
    TYPE = "type"
    CUE = "cue"
    HEDGE = "hedge"
    NEGATION = "negation"
    VERDICT = "verdict"
    REVIEWER = "reviewer"
    REASON = "reason"
    NOTE = "note"
    SPLIT = "split"
    SOURCE = "source"
    LICENCE = "licence"
    GENRE = "genre"
    LANGUAGE = "language"
    DOCUMENT_ID = "document_id"
    ROW_ID = "row_id"
    PROVIDER = "provider"
    MODEL = "model"
    DECIDED_BY = "decided_by"
    OWN_WORDING = "own_wording"
    IGNORE = "ignore"


MEANINGS = {
    ColumnRole.ANCHOR: "Anchors",
    ColumnRole.TEXT: "Variants of several types",
    ColumnRole.TYPE: "Types of the variants",
    ColumnRole.CUE: "Hedge cues",
    ColumnRole.HEDGE: "Hedges (type detected)",
    ColumnRole.NEGATION: "Negations (type detected)",
    ColumnRole.VERDICT: "Verdicts",
    ColumnRole.REVIEWER: "Reviewers",
    ColumnRole.REASON: "Reasons of rejections",
    ColumnRole.NOTE: "Notes on verdicts",
    ColumnRole.SPLIT: "Splits (train, validation, test)",
    ColumnRole.SOURCE: "Sources of the anchors",
    ColumnRole.LICENCE: "Licences of the sources",
    ColumnRole.GENRE: "Genres",
    ColumnRole.LANGUAGE: "Languages",
    ColumnRole.DOCUMENT_ID: "Documents of the anchors",
    ColumnRole.ROW_ID: "Ids of the anchors' rows",
    ColumnRole.PROVIDER: "Services that wrote the variants",
    ColumnRole.MODEL: "Models that wrote the variants",
    ColumnRole.DECIDED_BY: "Who accepted (person, rule, model)",
    ColumnRole.OWN_WORDING: "Annotators' own wordings",
    ColumnRole.IGNORE: "Not used",
}
"""The label of each role in a selection."""

UNTYPED = (ColumnRole.HEDGE, ColumnRole.NEGATION)
"""The roles of columns whose variants are only known to be hedges or negations."""

_VERDICTS = ("verdict", "decision", "judgement", "judgment", "answer", "choice")
_NAMES: Mapping[ColumnRole, tuple[str, ...]] = {
    ColumnRole.ANCHOR: ("anchor", "sentence1", "sentence"),
    ColumnRole.TEXT: ("text", "variant", "sentence2"),
    ColumnRole.TYPE: ("type", "variant_type"),
    ColumnRole.CUE: ("cue",),
    ColumnRole.HEDGE: ("positive", "hedge", "hedged"),
    ColumnRole.NEGATION: ("negative", "negation", "negated"),
    ColumnRole.VERDICT: (*(f"{name} (answer)" for name in _VERDICTS), *_VERDICTS),
    ColumnRole.REVIEWER: (
        "reviewer",
        "annotator",
        "annotator_id",
        "worker",
        "worker_id",
        "workerid",
    ),
    ColumnRole.REASON: ("reason", "reject_reason"),
    ColumnRole.NOTE: ("note", "comment"),
    ColumnRole.SOURCE: ("source",),
    ColumnRole.LICENCE: ("licence", "license"),
    **{
        ColumnRole(name): tuple(column for column in columns if column not in AMBIGUOUS)
        for name, columns in ATTRIBUTE_NAMES.items()
    },
    ColumnRole.PROVIDER: ("provider",),
    ColumnRole.MODEL: ("model",),
    ColumnRole.DECIDED_BY: ("decided_by",),
    ColumnRole.OWN_WORDING: ("text (own wording)", "variant (own wording)"),
}
"""Role → column names that imply it; case does not matter."""

ColumnRoles = Mapping[str, str]
"""Column → its role or type id. Unused columns are missing."""


def types_by_name(types: Iterable[VariantType]) -> dict[str, str]:
    """Map the names that a file may use for a type (its id, its label) to its id.

    This includes entailments and contradictions, which a project gets with the first import that
    has some.
    """
    found = {name_key(id_): id_ for id_ in ORIGINAL_TYPES}
    for entry in types:
        found[name_key(entry.label)] = entry.id
    return found | {name_key(entry.id): entry.id for entry in types}


def name_key(name: str) -> str:
    """Return a key shared by spellings of a name: 'Verbal negation', 'verbal_negation'."""
    return " ".join(name.casefold().replace("_", " ").replace("-", " ").split())


def guess_roles(columns: Sequence[str], types: Mapping[str, str]) -> dict[str, str]:
    """Guess the roles from the names of the columns.

    Args:
        types: the result of ``types_by_name``.
    """
    found: dict[str, str] = {}
    for role, names in _NAMES.items():
        if (column := named(columns, names)) is not None:
            found[column] = role
    for column in columns:
        type_id = types.get(name_key(column))
        if type_id is not None and column not in found:
            found[column] = type_id
    if ENTAILMENT in found.values() and ColumnRole.NEGATION in found.values():
        # Jina AI's name for the original contradictions; without its other columns it means
        # negations.
        found = {c: CONTRADICTION if r == ColumnRole.NEGATION else r for c, r in found.items()}
    return found


def parse_roles(given: Iterable[str]) -> dict[str, str]:
    """Parse roles given as ``COLUMN=ROLE``.

    Raises:
        HedgerowError: one has another form, or a column occurs twice.
    """
    found: dict[str, str] = {}
    for one in given:
        column, equals, role = one.rpartition("=")
        column, role = column.strip(), role.strip()
        if not equals or not column or not role:
            raise HedgerowError(
                f"Expected COLUMN=ROLE, such as sentence=anchor, found {one[:80]!r}."
            )
        if column in found:
            raise HedgerowError(f"Expected one role for {quoted(column)}, found two; keep one.")
        found[column] = role
    return found


def given_roles(
    given: ColumnRoles, *, columns: Sequence[str], types: Mapping[str, str], name: str
) -> dict[str, str]:
    """Replace the names of types by their ids.

    Args:
        types: as for ``guess_roles``.
        name: the file's name.

    Raises:
        HedgerowError: there is no such column or role.
    """
    for column in given:
        if column not in columns:
            raise HedgerowError(
                f"Expected a column {quoted(column)} in {name}, found {listed(columns)}; choose "
                "one of these."
            )
    return {column: _role(role, types) for column, role in given.items()}


def _role(text: str, types: Mapping[str, str]) -> str:
    if text.casefold() in set(ColumnRole):
        return ColumnRole(text.casefold())
    type_id = types.get(name_key(text))
    if type_id is None:
        raise HedgerowError(
            f"Expected a role ({', '.join(ColumnRole)}) or a variant type "
            f"({', '.join(dict.fromkeys(types.values()))}), found {text[:80]!r}; add your own "
            "types on the Taxonomy page first."
        )
    return type_id


def with_given(guessed: ColumnRoles, given: ColumnRoles) -> dict[str, str]:
    """Combine guessed and given roles.

    If a role is given to one column, it is no longer guessed for another.
    """
    taken = set(given.values()) & set(ColumnRole)
    rest = {c: role for c, role in guessed.items() if role not in taken and c not in given}
    return {c: role for c, role in (rest | dict(given)).items() if role != ColumnRole.IGNORE}


def check_roles(roles: ColumnRoles, *, columns: Sequence[str], name: str) -> None:
    """Refuse roles from which no variants can be read.

    Raises:
        Unclear: the anchors, the variants or their types are missing, or two columns have the same
            role.
    """
    given = list(roles.values())
    for role in ColumnRole:
        if given.count(role) > 1 and role not in UNTYPED:
            both = [column for column, one in roles.items() if one == role]
            raise Unclear(
                f"Expected one column of the role {role}, found {listed(both)} in {name}",
                Field.ONE_COLUMN,
            )
    is_typed = ColumnRole.TYPE in given or set(text_columns(roles).values()) - {ColumnRole.TEXT}
    if not is_typed and named(columns, LABEL_NAMES) and named(columns, HYPOTHESIS_NAMES):
        raise HedgerowError(
            f"{name} looks like data for natural language inference ({listed(columns)}); add "
            "it with 'hedgerow anchors add', or under Anchors › Add."
        )
    if ColumnRole.ANCHOR not in given:
        raise Unclear(
            f"Expected a column of anchors in {name}, found {listed(columns)}", Field.ANCHORS
        )
    if ColumnRole.TEXT in given and ColumnRole.TYPE not in given:
        column = next(column for column, role in roles.items() if role == ColumnRole.TEXT)
        raise Unclear(
            f"The variants in {quoted(column)} of {name} have no types", Field.TYPES, column
        )
    if not text_columns(roles):
        raise Unclear(
            f"Expected a column of variants in {name}, found {listed(columns)}",
            Field.VARIANTS,
        )


def text_columns(roles: ColumnRoles) -> dict[str, str]:
    """The columns with variants: column → ``ColumnRole.TEXT``, an untyped role or a type id."""
    others = set(ColumnRole) - {ColumnRole.TEXT, *UNTYPED}
    return {column: role for column, role in roles.items() if role not in others}


# -- Missing information about a file: an option in the terminal, a field on the page -------------


class Field(StrEnum):
    """The field for the missing information."""

    ONE_COLUMN = "one column"
    ANCHORS = "anchors"
    VARIANTS = "variants"
    TYPES = "types"
    SAME_VALUE = "same value"
    VERDICT_WORDS = "verdict words"


_OPTIONS = {
    Field.ONE_COLUMN: "leave out one of them with COLUMN=ignore",
    Field.ANCHORS: "name the right one with COLUMN=anchor",
    Field.VARIANTS: "name it with COLUMN=text, COLUMN=verbal, COLUMN=hedge or COLUMN=negation",
    Field.TYPES: "name the column of types with COLUMN=type, or give all of them one type with "
    "{about}=verbal",
    Field.SAME_VALUE: "make them the same, or leave out the column with COLUMN=ignore",
    Field.VERDICT_WORDS: "define it with --verdict '{about}=accept', or leave out the column",
}
"""What to do in the terminal."""

_SHOWN = 40


class Unclear(HedgerowError):
    """A file can be imported once the user gives more information.

    The message is for the terminal. A page, which has fields instead of options, composes its own
    from the parts.

    Attributes:
        found: what was expected and found, without what to do.
        field: the missing information.
        about: the column or value that it is about; '' if the sentence already names it.
    """

    def __init__(self, found: str, field: Field, about: str = "") -> None:
        self.found, self.field, self.about = found, field, about[:_SHOWN]
        super().__init__(f"{found}; {_OPTIONS[field].format(about=self.about)}.")
