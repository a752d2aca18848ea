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
from hedgerow.home import Home, acting
from hedgerow.judging import Judging
from hedgerow.language_models import LanguageModels
from hedgerow.modelling import Modelling
from hedgerow.reviewing import Reviewing
from hedgerow.upkeep import Upkeep

if TYPE_CHECKING:
    import pandas as pd

    from curation.importing.corpora import Loaded
    from hedgerow.data.releases import Release


class Project(Generating, Reviewing, Assigning, Judging, Modelling, LanguageModels, Upkeep):
    """A project, opened with `hedgerow.open`.

    Attributes:
        anchors: the anchors. ``project.anchors()`` lists them, ``project.anchors.add()`` adds some
            (see `hedgerow.data.anchors.Anchors`).
        variants: the variants. ``project.variants()`` lists them, ``project.variants.add()``
            imports some (see `hedgerow.data.variants.Variants`).
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
        """Close the database connections. The next call reopens them.

        >>> with hedgerow.open("somewhere") as project:
        ...     len(project.releases())
        0
        """
        self._home.engine.dispose()

    def __repr__(self) -> str:
        return f"<Project {shown_address(self._home.engine.url)}>"

    def status(self) -> dict[str, Any]:
        """A summary of the project, ready for JSON.

        Returns:
            Counts of anchors and of variants by type and status, releases, recent runs and
            encoders.

        >>> example_project().status()["variants"]["verbal"]["pending"]
        1
        """
        from curation.overview.counts import project_counts

        with reading(self._home.engine) as session:
            return project_counts(session, self._home.settings)

    def corpora(self) -> pd.DataFrame:
        """The corpora that come with Hedgerow, and how much of each is in the project.

        Returns:
            One row per corpus: corpus, anchors (number in the project), of (number in the corpus),
            licence, about (a description).

        >>> "starter" in set(example_project().corpora()["corpus"])
        True
        """
        import pandas as pd

        from hedgerow.data import corpora

        return pd.DataFrame([state._asdict() for state in corpora.states(self._home)])

    def load_corpus(
        self, name: str, *, accept_unflagged: bool = False, reviewer: str = ""
    ) -> dict[str, Any]:
        """Load a corpus, or the part of it that is missing. Unreviewed variants are pending.

        Args:
            name: the name of a corpus, such as 'antonyms' or 'claims'; `corpora` lists all names.
            accept_unflagged: accept the unflagged variants by a rule. One undo reverts this.
            reviewer: your name; by default the name that the project was opened with.

        Returns:
            The number of added anchors, variants and decisions, and of variants that the rule
            accepted, with the number of the run as ``run``.

        Raises:
            HedgerowError: the corpus is unknown, or the rule needs a reviewer and none is named.

        >>> hedgerow.open("with searches").load_corpus("exclusions")["anchors"]
        212
        """
        from hedgerow.data import corpora
        from hedgerow.running import carry_out

        run = corpora.store_loading(self._home, name, accept_unflagged, reviewer)
        return carry_out(*self._home, run)

    def load_starter_corpus(self) -> Loaded:
        """Load the starter corpus, passages and exclusions, as 'hedgerow init' does.

        Returns:
            The number of added anchors, variants and decisions; all are 0 if the project already
            has the corpora.

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
        """Create a release: a frozen, numbered copy of the accepted variants.

        Args:
            name: a descriptive name.
            sources: include only anchors from these sources; by default all sources.
            any_distance: include variants above the project's Levenshtein threshold.
            complete: include only anchors with all six variant types of the HedgeTriple paper.

        Returns:
            The new release, or the newest one if its contents are the same.

        Raises:
            HedgerowError: no variant is accepted, or a source is unknown.

        >>> example_project().release("first").number
        1
        """
        from curation.release.creating import CREATE_RELEASE, CreateRelease
        from hedgerow.data.releases import Release

        sources = asked.names(sources, what="sources")
        request = asked.request(CreateRelease, locals())
        row, created = CREATE_RELEASE.perform(acting(self._home), request)
        return Release(self._home, row, created=created)

    def releases(self) -> list[Release]:
        """All releases, newest first.

        >>> example_project().releases()
        []
        """
        from hedgerow.data.releases import releases

        return releases(self._home)

    def get_release(self, number: int | None = None) -> Release:
        """The release with this number.

        Args:
            number: the number of the release; by default the newest release.

        Raises:
            HedgerowError: no release has this number, or the project has no releases.

        >>> project = example_project()
        >>> release = project.release("first")
        >>> project.get_release(1).hash == release.hash
        True
        """
        from hedgerow.data.releases import find_release

        return find_release(self._home, number)
