"""Prompts: the paper's and others, as versioned templates that people can copy and edit.

A template contains ``{text}`` (the anchor) and ``{types}`` (a numbered list with the taxonomy's
prompt line for each requested type), and optionally ``{count}``; everything else is sent unchanged.
One call asks for all types of one role: the negations, the hedges or the paraphrase (section 3.1.2
of the paper for the first two). The prompt for a second opinion (``judge``) has its own
placeholders (``PLACES``), which ``judging.opinion_request`` fills. So do the prompts for measuring
language models (``MEASURING``, section 5.2), which benchmarks fill.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import at_most
from curation.splits import bucket
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.cues import SPELLING, cue_list
from curation.taxonomy.surface_check import ROLES, Role
from db.columns import not_null
from db.errors import HedgerowError
from db.models import Anchor, AnchorRevision, PromptVersion, Variant

MeasuringName = Literal["relevance", "similarity", "paraphrase_choice"]
PromptName = Role | Literal["judge"] | MeasuringName

JUDGE: Literal["judge"] = "judge"
"""The prompt for a second opinion on one variant."""

MEASURING: tuple[MeasuringName, ...] = ("relevance", "similarity", "paraphrase_choice")
"""The prompts of benchmarks: which of two documents is more relevant to a query, how similar two
sentences are, and which of three sentences means the same as another.

The first two are worded as in HedgeTriple.
"""

GENERATING: tuple[PromptName, ...] = (*ROLES, JUDGE)
"""The prompts for writing and judging variants."""

PROMPTS: tuple[PromptName, ...] = (*GENERATING, *MEASURING)
"""All prompts. Each has at least one version."""

MAX_TEMPLATE = 8000
"""Maximum characters of a template."""

_FOLDER = Path(__file__).with_name("prompts")
_JUDGE_PLACES = {
    "{text}": "the anchor",
    "{variant}": "the variant",
    "{type}": "what the type promises",
    "{reasons}": "the list of reasons",
}
_ROLE_PLACES = {"{text}": "the anchor", "{types}": "the list of types"}
_DOCUMENTS = {"{first}": "the first document", "{second}": "the second document"}
_SENTENCES = {"{first}": "the first sentence", "{second}": "the second sentence"}
PLACES: dict[PromptName, dict[str, str]] = {
    **dict.fromkeys(ROLES, _ROLE_PLACES),
    JUDGE: _JUDGE_PLACES,
    "relevance": {**_DOCUMENTS, "{query}": "the query"},
    "similarity": _SENTENCES,
    "paraphrase_choice": {
        **_SENTENCES,
        "{third}": "the third sentence",
        "{sentence}": "the sentence that one of them paraphrases",
    },
}
"""The meaning of each placeholder that a prompt's template must have."""

COUNT = "{count}"
"""Placeholder for the number of requested types: 'Two types', as in the paper's hedge prompt."""

EXAMPLES = "{examples}"
"""Placeholder for examples, which belong to a version (see ``curation.generation.examples``)."""

FURTHER_PLACES: dict[PromptName, tuple[str, ...]] = {
    **dict.fromkeys(ROLES, (COUNT, EXAMPLES)),
    JUDGE: ("{guideline}",),
}
"""Additional placeholders that a prompt's template may have."""

_NO_EXAMPLES = re.compile(re.escape(EXAMPLES) + r"\n*")
_PLACE = re.compile(r"\{[a-z]+\}")
_MEANT = re.compile(r"\{\s*[A-Za-z_]+\s*\}")
"""Matches placeholders. Braces with other content, as in JSON, are ordinary text."""

_CUE_SALT = "hedgerow/cue/1"


def built_in(role: PromptName) -> str:
    """Return the built-in template of a prompt."""
    return (_FOLDER / f"{role}.txt").read_text(encoding="utf-8").strip()


def types_of(
    role: Role, types: Sequence[VariantType], named: Collection[str] = ()
) -> list[VariantType]:
    """Return the types that one call for this role requests, in taxonomy order.

    Args:
        named: ids of the only types to request; empty for all except those written only on request.
    """
    wanted = [entry for entry in types if entry.role == role and not entry.imported]
    if named:
        return [entry for entry in wanted if entry.id in named]
    return [entry for entry in wanted if not entry.on_request]


def fill(
    template: str,
    *,
    text: str,
    types: Sequence[VariantType],
    cues: Mapping[str, str],
    examples: str = "",
) -> str:
    """Return the prompt for one anchor.

    Args:
        text: the anchor. It is inserted once and not read as a template.
        types: the requested types, in the order of the numbered list.
        cues: by type id, the cue to request, in the paper's spelling.
        examples: as text; '' leaves no empty line in their place.
    """
    if not examples:
        template = _NO_EXAMPLES.sub("", template)
    values = {"{text}": text, "{types}": _numbered(types, cues), COUNT: _counted(len(types))}
    values[EXAMPLES] = examples
    return put_in(template, values)


def put_in(template: str, values: Mapping[str, str]) -> str:
    """Fill the template with these values, which are not read as templates themselves."""
    return _PLACE.sub(lambda place: values.get(place[0], place[0]), template)


def _counted(types: int) -> str:
    words = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
    word = words[types] if types < len(words) else str(types)
    return f"{word} {'type' if types == 1 else 'types'}"


def _numbered(types: Sequence[VariantType], cues: Mapping[str, str]) -> str:
    lines = []
    for number, entry in enumerate(types, start=1):
        cue = cues.get(entry.id, "")
        line = entry.prompt_line.replace("{cue}", SPELLING.get(cue, cue))
        lines.append(f'{number}. "{entry.id}": {line}')
    return "\n".join(lines)


def sample_cues(types: Sequence[VariantType], *, seed: int, anchor_uid: str) -> dict[str, str]:
    """Choose the cue to request for each type with cues.

    A hash of seed, type and anchor decides: the same run requests the same cues on any machine and
    in any order, and another seed requests others.
    """
    return {
        entry.id: cues[int(bucket(anchor_uid, salt=f"{_CUE_SALT}:{seed}:{entry.id}:") * len(cues))]
        for entry in types
        if entry.needs_cue
        for cues in [cue_list(entry)]
    }


def prompt_versions(session: Session, role: PromptName) -> list[PromptVersion]:
    """Return all versions of a prompt, newest first; none before ``seed_prompts``."""
    query = select(PromptVersion).where(col(PromptVersion.name) == role)
    return list(session.execute(query.order_by(col(PromptVersion.version).desc())).scalars())


def prompt_ids(session: Session, role: PromptName) -> dict[int, int]:
    """Return the ids of a prompt's versions by version number, newest first."""
    return {row.version: row.id for row in prompt_versions(session, role)}


def find_version(session: Session, name: str, number: int | None) -> PromptVersion:
    """Return a version of a prompt; None for the newest.

    Raises:
        HedgerowError: there is no such prompt or version.
    """
    known = next((prompt for prompt in PROMPTS if prompt == name), None)
    if known is None:
        raise HedgerowError(f"Expected a prompt ({', '.join(PROMPTS)}), found {name[:80]}.")
    versions = prompt_versions(session, known)
    for row in versions:
        if number is None or row.version == number:
            return row
    newest = versions[0].version if versions else 1
    raise HedgerowError(
        f"Expected a version of the prompt {name} from 1 to {newest}, found {number}."
    )


def newest_template(session: Session, role: PromptName) -> str:
    """Return the template of a prompt's newest version, or the built-in one if none is stored."""
    versions = prompt_versions(session, role)
    return versions[0].template if versions else built_in(role)


def needs_prompts(session: Session) -> bool:
    """Whether some prompt has no stored version yet."""
    return not all(prompt_versions(session, role) for role in PROMPTS)


def seed_prompts(session: Session) -> None:
    """Store the built-in template of each prompt without a stored version."""
    for role in PROMPTS:
        template = built_in(role)
        if all(known.template != template for known in prompt_versions(session, role)):
            _add(session, role, template, parent_id=None, author_id=None)


def save_copy(
    session: Session,
    parent: PromptVersion,
    template: str,
    *,
    author_id: int | None,
    examples: Sequence[dict[str, Any]] | None = None,
) -> PromptVersion:
    """Store a person's edited copy as the next version; the parent version is kept.

    If the template is already stored with these examples, that version is returned.

    Args:
        examples: the examples; None for those of the parent. A template without a placeholder has
            none.

    Raises:
        HedgerowError: the template cannot be used (see `checked_template`).
    """
    checked = checked_template(template, _role(parent))
    shown = list(parent.examples if examples is None else examples) if EXAMPLES in checked else []
    for known in prompt_versions(session, _role(parent)):
        if known.template == checked and known.examples == shown:
            return known
    return _add(
        session,
        _role(parent),
        checked,
        parent_id=parent.id,
        author_id=author_id,
        examples=shown,
    )


class SavedDraft(NamedTuple):
    """The version under which a draft is stored. It is not the newest if it was already stored."""

    version: int
    is_newest: bool


def save_draft(
    session: Session, parent: PromptVersion, template: str, *, author_id: int | None
) -> SavedDraft:
    """Like ``save_copy``, but says which version of its prompt the template is now."""
    saved = save_copy(session, parent, template, author_id=author_id)
    newest = prompt_versions(session, _role(parent))[0]
    return SavedDraft(saved.version, is_newest=saved.version == newest.version)


def _role(prompt: PromptVersion) -> PromptName:
    return next(role for role in PROMPTS if role == prompt.name)


def _add(
    session: Session,
    role: PromptName,
    template: str,
    *,
    parent_id: int | None,
    author_id: int | None,
    examples: Sequence[dict[str, Any]] = (),
) -> PromptVersion:
    newest = session.execute(
        select(func.max(PromptVersion.version)).where(col(PromptVersion.name) == role)
    ).scalar_one()
    row = PromptVersion(
        name=role,
        version=(newest or 0) + 1,
        template=template,
        parent_id=parent_id,
        author_id=author_id,
        examples=list(examples),
    )
    session.add(row)
    session.flush()
    return row


def checked_template(template: str, role: PromptName = "negation") -> str:
    """Return the template without white space around it.

    Raises:
        HedgerowError: it is too long, lacks a placeholder, or has an unknown one.
    """
    clean = at_most(MAX_TEMPLATE, template.strip(), "a prompt")
    for place, meaning in PLACES[role].items():
        found = clean.count(place)
        if found != 1:
            raise HedgerowError(
                f"Expected {place} once in the prompt, found it {found} times; it is replaced by "
                f"{meaning}."
            )
    known = [*PLACES[role], *FURTHER_PLACES.get(role, ())]
    for unknown in (place for place in _MEANT.findall(clean) if place not in known):
        raise HedgerowError(
            f"Expected only the placeholders {', '.join(known)} in the prompt, found {unknown}; "
            "remove it."
        )
    return clean


def written_with(session: Session) -> dict[int, int]:
    """Count the variants written with each prompt version, by the version's number."""
    prompt = col(Variant.prompt_version_id)
    used = select(not_null(prompt), func.count()).where(prompt.is_not(None))
    return dict(session.execute(used.group_by(prompt)).all())


class PromptExample(NamedTuple):
    """An anchor with which a prompt can be previewed."""

    uid: str
    text: str


def example_anchor(session: Session, number: int) -> PromptExample | None:
    """Return the anchor in use with this number, modulo their count; None if there are none."""
    used = (col(Anchor.retired_at).is_(None),)
    total = session.execute(select(func.count()).select_from(Anchor).where(*used)).scalar_one()
    if not total:
        return None
    query = (
        select(col(Anchor.uid), col(AnchorRevision.text))
        .join(
            AnchorRevision,
            (col(AnchorRevision.anchor_id) == Anchor.id)
            & (col(AnchorRevision.revision) == Anchor.revision),
        )
        .where(*used)
        .order_by(col(Anchor.id))
        .offset(number % total)
        .limit(1)
    )
    return PromptExample(*session.execute(query).one())
