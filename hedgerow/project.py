"""A project: its anchors, variants, releases and models."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from db.engine import reading
from db.failures import shown_address
from hedgerow import asked
from hedgerow.assigning import Assigning
from hedgerow.data.anchors import Anchors
from hedgerow.data.variants import Variants
from hedgerow.generating import Generating
from hedgerow.home import Home
from hedgerow.judging import Judging
from hedgerow.language_models import LanguageModels
from hedgerow.modelling import Modelling
from hedgerow.reviewing import Reviewing
from hedgerow.upkeep import Upkeep

if TYPE_CHECKING:
    import pandas as pd

    from curation.corpora.loading import Loaded
    from hedgerow.data.releases import Release


class Project(Generating, Reviewing, Assigning, Judging, Modelling, LanguageModels, Upkeep):
    """A project, opened with `hedgerow.open`.

    Attributes:
        anchors: call it to list anchors; `hedgerow.data.anchors.Anchors.add` adds some.
        variants: call it to list variants.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self.anchors = Anchors(home)
        self.variants = Variants(home)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database. The project opens it again when needed.

        >>> with hedgerow.open("somewhere") as project:
        ...     len(project.releases())
        0
        """
        self._home.engine.dispose()

    def __repr__(self) -> str:
        return f"<Project {shown_address(self._home.engine.url)}>"

    def status(self) -> dict[str, Any]:
        """Anchors, variants by type and status, releases, the last runs and encoders, as JSON has
        them.

        >>> example_project().status()["variants"]["verbal"]["pending"]
        1
        """
        from curation.project.counts import project_counts

        with reading(self._home.engine) as session:
            return project_counts(session, self._home.settings)

    def corpora(self) -> pd.DataFrame:
        """The corpora that come with Hedgerow, and how many of their anchors are in the project.

        Returns:
            corpus, anchors (here), of (so many), licence, about; a row a corpus.

        >>> "starter" in set(example_project().corpora()["corpus"])
        True
        """
        import pandas as pd

        from hedgerow.data import corpora

        return pd.DataFrame([state._asdict() for state in corpora.states(self._home)])

    def load_corpus(
        self, name: str, *, accept_unflagged: bool = False, reviewer: str = ""
    ) -> dict[str, Any]:
        """Load a corpus, or the missing part of it. Unreviewed variants are pending.

        Args:
            name: such as 'antonyms' or 'claims'; `corpora` lists them.
            accept_unflagged: accept variants without flags by rule. One undo reverts this.
            reviewer: your name. Default: the name that the project was opened with.

        Returns:
            How many anchors, variants and decisions were added and how many variants accepted by
            the rule, with the number of the run as ``run``.

        Raises:
            HedgerowError: there is no such corpus, or no name of a reviewer for the rule.

        >>> hedgerow.open("with searches").load_corpus("exclusions")["anchors"]
        212
        """
        from hedgerow.data import corpora
        from hedgerow.runs.running import carry_out

        run = corpora.store_loading(self._home, name, accept_unflagged, reviewer)
        return carry_out(*self._home, run)

    def load_starter_corpus(self) -> Loaded:
        """Load the starter corpus, passages and exclusions, as 'hedgerow init' does.

        Returns:
            How many anchors, variants and decisions were added; 0 where they are there already.

        >>> hedgerow.open("with a corpus").load_starter_corpus().anchors > 1000
        True
        """
        from hedgerow.data import corpora

        return corpora.load_starter(self._home)

    def release(
        self,
        name: str = "",
        *,
        sources: Iterable[str] = (),
        any_distance: bool = False,
        complete: bool = False,
    ) -> Release:
        """Freeze the accepted variants under the next number.

        Args:
            name: for people.
            sources: take these only; all without one.
            any_distance: also take variants over the project's Levenshtein threshold.
            complete: take only anchors with all six types of the HedgeTriple paper.

        Returns:
            The release; the newest one where it holds just the same already.

        Raises:
            HedgerowError: nothing is accepted, or there is no such source.

        >>> example_project().release("first").number
        1
        """
        from hedgerow.data.releases import make_release

        return make_release(
            self._home,
            name,
            sources=asked.names(sources, what="sources"),
            any_distance=any_distance,
            complete=complete,
        )

    def releases(self) -> list[Release]:
        """All releases, the newest first.

        >>> example_project().releases()
        []
        """
        from hedgerow.data.releases import releases

        return releases(self._home)

    def get_release(self, number: int | None = None) -> Release:
        """The release with this number, without one the newest.

        Raises:
            HedgerowError: there is none.

        >>> project = example_project()
        >>> release = project.release("first")
        >>> project.get_release(1).hash == release.hash
        True
        """
        from hedgerow.data.releases import find_release

        return find_release(self._home, number)
