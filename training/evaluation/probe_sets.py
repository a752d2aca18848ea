"""Named probe sets in the database: the bundled ones, and those of the users.

A set holds sentence pairs, groups of pairs (see `training.evaluation.similarity`), or single
sentences that are all compared with each other. A single sentence is stored as a probe with an
empty text.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import canonical
from db.errors import HedgerowError
from db.models import Probe as ProbeRecord
from db.models import ProbeCosine, ProbeSet
from training.evaluation.probe_files import Pasted
from training.evaluation.similarity import FIGURE_1, ProbePair, bundled_probes, find_groups

FIGURE_1_SET = "Figure 1 of the paper"
GROUPS_SET = "Sixty groups"
OWN_SET = "Own probes"
"""The pairs of the Train page, which are measured after every training run."""

BUNDLED: dict[str, tuple[ProbePair, ...]] = {GROUPS_SET: bundled_probes(), FIGURE_1_SET: FIGURE_1}
"""Sets that come with Hedgerow and can't be changed."""

MAX_NAME = 80
MAX_PAIRS = 1_000
MAX_SENTENCES = 200
"""Maximum number of single sentences, which make 19,900 pairs."""
MAX_OWN = 30
"""More pairs than this would not fit into one readable chart on the Train page."""


class SetKind(StrEnum):
    """The kind of content of a set."""

    GROUPS = "groups"
    """At least one complete group, and possibly other pairs."""
    PAIRS = "pairs"
    SENTENCES = "sentences"


class StoredProbe(NamedTuple):
    """A stored pair. `id` is its row, or 0 for a pair of a bundled set that is not stored yet."""

    id: int
    probe: ProbePair


class OpenSet(NamedTuple):
    """A set with its content, in order."""

    name: str
    kind: SetKind
    probes: list[StoredProbe]

    @property
    def bundled(self) -> bool:
        """Whether it came with Hedgerow and can't be changed."""
        return self.name in BUNDLED

    @property
    def sentences(self) -> list[str]:
        """The sentences of a set of single sentences."""
        return [stored.probe.anchor for stored in self.probes]


def list_sets(session: Session) -> list[str]:
    """The names of all sets: the bundled ones, stored or not, then the others by name."""
    names = set(session.execute(select(col(ProbeSet.name))).scalars())
    return [*BUNDLED, *sorted(names - set(BUNDLED), key=str.casefold)]


def open_set(session: Session, name: str) -> OpenSet:
    """The set with this name, and its content.

    Raises:
        HedgerowError: there is none.
    """
    probes = stored_probes(session, name)
    if name in BUNDLED and tuple(stored.probe for stored in probes) != BUNDLED[name]:
        probes = [StoredProbe(0, probe) for probe in BUNDLED[name]]
    if not probes and _set_id(session, name) is None:
        raise HedgerowError(f"There is no probe set {name!r}; choose another one.")
    return OpenSet(name, _kind([stored.probe for stored in probes]), probes)


def _kind(probes: Sequence[ProbePair]) -> SetKind:
    if probes and not any(probe.text for probe in probes):
        return SetKind.SENTENCES
    return SetKind.GROUPS if find_groups(probes) else SetKind.PAIRS


def stored_probes(session: Session, name: str) -> list[StoredProbe]:
    """The stored content of a set, in its order; empty if the set does not exist."""
    query = (
        select(ProbeRecord)
        .join(ProbeSet, col(ProbeSet.id) == ProbeRecord.set_id)
        .where(col(ProbeSet.name) == name)
        .order_by(col(ProbeRecord.ordinal))
    )
    return [
        StoredProbe(row.id, ProbePair(row.anchor, row.text, row.label))
        for row in session.execute(query).scalars()
    ]


def ensure_bundled(session: Session, name: str) -> list[StoredProbe]:
    """The stored pairs of a bundled set, after storing missing and changed ones.

    An update of Hedgerow may change a group. Its cosines are then measured again.
    """
    there = stored_probes(session, name)
    if tuple(stored.probe for stored in there) == BUNDLED[name]:
        return there
    _delete_probes(session, [stored.id for stored in there])
    set_id = _set_id(session, name) or _new_set(session, name, author_id=None)
    _append(session, set_id, BUNDLED[name])
    return stored_probes(session, name)


def create_set(session: Session, *, name: str, content: Pasted, author_id: int | None) -> str:
    """Create a set from uploaded or pasted content.

    Returns:
        Its name in canonical form.

    Raises:
        HedgerowError: the name is empty, too long or taken, or the content has too few or too many
            entries.
    """
    name = _free_name(session, name)
    probes = _entries(content)
    _check_size(probes)
    _append(session, _new_set(session, name, author_id=author_id), probes)
    return name


def add_to_set(
    session: Session, name: str, content: Pasted, *, author_id: int | None = None
) -> int:
    """Add pairs or sentences to a user's set. Existing ones are skipped.

    Returns:
        The number of added entries.

    Raises:
        HedgerowError: it is a bundled set, holds another kind of content, would become too large,
            or does not exist (the Train page's set is created with its first pair).
    """
    _refuse_bundled(name)
    entries = _entries(content)
    there = [stored.probe for stored in stored_probes(session, name)]
    if (there or name == OWN_SET) and _single(there) != _single(entries):
        kind = "single sentences" if _single(there) else "sentence pairs"
        raise HedgerowError(f"This set contains {kind}; add more of these, or create another set.")
    known = {(probe.anchor, probe.text) for probe in there}
    fresh = [probe for probe in entries if (probe.anchor, probe.text) not in known]
    _check_size([*there, *fresh], most=MAX_OWN if name == OWN_SET else None)
    set_id = _set_id(session, name)
    if set_id is None and name == OWN_SET:
        set_id = _new_set(session, name, author_id=author_id)
    if set_id is None:
        raise HedgerowError(f"The probe set {name!r} no longer exists; create a new one.")
    _append(session, set_id, fresh)
    return len(fresh)


def remove_from_set(session: Session, name: str, ids: Iterable[int]) -> int:
    """Remove probes of a set with their cosines. Probes that no longer exist are ignored.

    Returns:
        The number of removed probes.

    Raises:
        HedgerowError: it is a bundled set.
    """
    _refuse_bundled(name)
    gone = {stored.id for stored in stored_probes(session, name)} & set(ids)
    _delete_probes(session, sorted(gone))
    return len(gone)


def rename_set(session: Session, name: str, new_name: str) -> str:
    """Rename a set.

    Returns:
        The new name in canonical form.

    Raises:
        HedgerowError: it is a bundled set or the Train page's, it does not exist, or the new name
            is empty, too long or taken.
    """
    _refuse_bundled(name)
    if name == OWN_SET:
        raise HedgerowError(
            "The Train page uses the pairs of this set, so it can't be renamed or deleted."
        )
    row = session.execute(select(ProbeSet).where(col(ProbeSet.name) == name)).scalar()
    if row is None:
        raise HedgerowError(f"The probe set {name!r} no longer exists.")
    row.name = _free_name(session, new_name, but=name)
    session.flush()
    return row.name


def delete_set(session: Session, name: str) -> None:
    """Delete a set with its probes and their cosines. A set that no longer exists is ignored.

    Raises:
        HedgerowError: it is a bundled set.
    """
    _refuse_bundled(name)
    _delete_probes(session, [stored.id for stored in stored_probes(session, name)])
    session.execute(delete(ProbeSet).where(col(ProbeSet.name) == name))


def _entries(content: Pasted) -> list[ProbePair]:
    """The distinct probes in a user's content."""
    singles = [ProbePair(sentence, "", "") for sentence in content.sentences]
    return list({(p.anchor, p.text, p.label): p for p in content.probes or singles}.values())


def _single(probes: Sequence[ProbePair]) -> bool:
    return _kind(probes) is SetKind.SENTENCES


def _check_size(probes: Sequence[ProbePair], *, most: int | None = None) -> None:
    if _single(probes):
        least, most, what = 2, MAX_SENTENCES, "sentences"
    else:
        least, most, what = 1, most or MAX_PAIRS, "pairs"
    if not least <= len(probes) <= most:
        raise HedgerowError(
            f"Expected {least} to {most:,} different {what} in a set, found {len(probes):,}."
        )


def _free_name(session: Session, name: str, *, but: str = "") -> str:
    clean = canonical(name)
    if not clean or len(clean) > MAX_NAME:
        raise HedgerowError(f"Expected a name of 1 to {MAX_NAME} characters, found {len(clean)}.")
    taken = {there.casefold() for there in [*list_sets(session), OWN_SET] if there != but}
    if clean.casefold() in taken:
        raise HedgerowError(f"The probe set {clean!r} already exists; choose another name.")
    return clean


def _refuse_bundled(name: str) -> None:
    if name in BUNDLED:
        raise HedgerowError(f"The set {name!r} comes with Hedgerow and can't be changed.")


def _set_id(session: Session, name: str) -> int | None:
    return session.execute(select(col(ProbeSet.id)).where(col(ProbeSet.name) == name)).scalar()


def _new_set(session: Session, name: str, *, author_id: int | None) -> int:
    row = ProbeSet(name=name, author_id=author_id)
    session.add(row)
    session.flush()
    return row.id


def _append(session: Session, set_id: int, probes: Iterable[ProbePair]) -> None:
    last = session.execute(
        select(func.max(ProbeRecord.ordinal)).where(col(ProbeRecord.set_id) == set_id)
    ).scalar()
    first = 0 if last is None else last + 1
    session.add_all(
        ProbeRecord(set_id=set_id, ordinal=ordinal, **probe._asdict())
        for ordinal, probe in enumerate(probes, start=first)
    )
    session.flush()


def _delete_probes(session: Session, ids: Sequence[int]) -> None:
    session.execute(delete(ProbeCosine).where(col(ProbeCosine.probe_id).in_(ids)))
    session.execute(delete(ProbeRecord).where(col(ProbeRecord.id).in_(ids)))
