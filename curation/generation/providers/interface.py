"""The interface of providers that write variants without a chat model's prompts and answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import ClassVar, NamedTuple

from curation.taxonomy.built_in import VariantType


class WritingTask(NamedTuple):
    """An anchor, and the variants to write for it.

    Attributes:
        text: the anchor.
        language: its tag, such as 'en'.
        types: write one variant of each.
        cues: for each type with cues, the hedge cue to use if it can be placed.
        seed: for everything random, so that a repeated run writes the same. It depends on the run's
            seed and the anchor, not on the order of the anchors.
    """

    text: str
    language: str
    types: tuple[VariantType, ...]
    cues: Mapping[str, str]
    seed: int


class Written(NamedTuple):
    """A variant.

    Attributes:
        type_id: the id of its type, such as 'verbal'.
        cue: its hedge cue; '' for none, or for the task's.
    """

    type_id: str
    text: str
    cue: str = ""


class PassedOver(NamedTuple):
    """A type that can't be written for this anchor, and why."""

    type_id: str
    reason: str


class Provider(ABC):
    """Writes variants of anchors. They are pending, and go through the same checks as all others.

    Another package can add a provider: a subclass that it names as an entry point in the group
    ``hedgerow.providers``. Variants record the provider, its package and its version as their
    writer. A provider is constructed once per run, without arguments.

    Attributes:
        name: its name in ``hedgerow generate --provider`` and in variants. A plug-in gets its entry
            point's name.
        label: its name on the Generate page; '' uses ``name``.
        purpose: a sentence or two below the label.
        types: ids of the types that it writes; empty means any.
        free: whether writing costs nothing and takes only a few milliseconds per anchor. If so, a
            dry run and the Generate page try it on up to 400 anchors to forecast a run.
        model: anything else that determined the texts, stored with each variant; '' for nothing.
    """

    name: ClassVar[str]
    label: ClassVar[str] = ""
    purpose: ClassVar[str] = ""
    types: ClassVar[tuple[str, ...]] = ()
    free: ClassVar[bool] = False
    model: str = ""

    @abstractmethod
    def write(self, task: WritingTask) -> Iterable[Written | PassedOver]:
        """Return the variants of one anchor, at most one of each type.

        A type without a variant is skipped, and another provider can write it later.
        """
