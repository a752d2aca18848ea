"""The active keys on the Review page and their actions. There are no widgets here."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple


class Shows(NamedTuple):
    """The card on the screen when a key is pressed: a variant's uid and version."""

    variant: str
    version: int


NOTHING = Shows("", 0)
"""There is no card."""


@dataclass(frozen=True)
class Key:
    """The action of a key.

    Attributes:
        act: called for each press.
        of_card: it acts only on the card that was shown when it was pressed.
        writes: it opens a text field, so letters typed after it are text.
    """

    act: Callable[[], object]
    of_card: bool = False
    writes: bool = False

    @property
    def kind(self) -> str:
        """The kind of key, for the browser."""
        return "card" if self.of_card else "writes" if self.writes else "plain"


@dataclass
class Keyboard:
    """The keys of one window.

    Attributes:
        shows: the card that is drawn.
        keys: by the key's name, such as 'a', '1', 'up' or 'shift+u'.
        answered: the number of the last press that was acted on or ignored.
    """

    shows: Shows = NOTHING
    keys: dict[str, Key] = field(default_factory=dict)
    answered: int = 0

    def show(self, shows: Shows) -> None:
        """Start to draw this card. All keys are unbound."""
        self.shows = shows
        self.keys = {}

    def bind(
        self,
        name: str,
        act: Callable[..., object],
        *args: Any,
        of_card: bool = False,
        writes: bool = False,
    ) -> None:
        """Bind a key to ``act`` with ``args``."""
        self.keys[name] = Key(partial(act, *args), of_card=of_card, writes=writes)

    def press(self, presses: Iterable[dict[str, Any]]) -> Iterator[Key | None]:
        """Yield the keys that were pressed, in order, each press once; None for one to ignore.

        A press is ignored when its card is no longer there. The browser sends every press that the
        server has not answered, because Streamlit keeps only the last of several messages that
        arrive while it is busy.
        """
        for press in presses:
            if press["number"] <= self.answered:
                continue
            self.answered = press["number"]
            key = self.keys.get(press["key"])
            if key is None:
                continue
            if not key.of_card:
                yield key
            elif self.shows == Shows(press["variant"], press["version"]):
                yield key
                self.shows = NOTHING  # until a card is drawn again
            else:
                yield None
