"""The interface of what writes variants without a chat model's prompts and answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import ClassVar, NamedTuple

from curation.taxonomy.built_in import VariantType


class WritingTask(NamedTuple):
    """An anchor, and what is to be written for it.

    Attributes:
        text: the anchor.
        language: its tag, such as 'en'.
        types: one variant of each is wanted.
        cues: by type id, the hedge cue to use if it can be placed, for the types that take one.
        seed: of all chance, so that a run that is repeated writes the same. It depends on the run's
            seed and the anchor, not on the order in which anchors come.
    """

    text: str
    language: str
    types: tuple[VariantType, ...]
    cues: Mapping[str, str]
    seed: int


class Written(NamedTuple):
    """A variant.

    Attributes:
        type_id: of its type, such as 'verbal'.
        cue: the hedge cue in it; '' for none, or for the one of the task.
    """

    type_id: str
    text: str
    cue: str = ""


class PassedOver(NamedTuple):
    """A type that can't be written for this anchor, and why."""

    type_id: str
    reason: str


class Provider(ABC):
    """Writes variants of anchors. They are pending, and pass every check that others pass.

    Another package can add a provider: a subclass that it names as an entry point of the group
    ``hedgerow.providers``. Variants name the provider, its package and its version as their writer.
    A provider is made once for a run, without arguments.

    Attributes:
        name: in ``hedgerow generate --provider`` and in variants. A plug-in gets that of its entry
            point.
        label: on the Generate page; '' for its name.
        purpose: a sentence or two below the label.
        types: ids of the types that it writes; none means any.
        free: whether writing costs nothing and takes a few milliseconds an anchor. Then a dry run
            and the Generate page try it on up to 400 anchors, and say what a run will bring.
        model: what else decided the texts, stored with each variant; '' for nothing.
    """

    name: ClassVar[str]
    label: ClassVar[str] = ""
    purpose: ClassVar[str] = ""
    types: ClassVar[tuple[str, ...]] = ()
    free: ClassVar[bool] = False
    model: str = ""

    @abstractmethod
    def write(self, task: WritingTask) -> Iterable[Written | PassedOver]:
        """The variants of one anchor, at most one of each type.

        A type for which nothing comes is left out, and can be written by another provider later.
        """
