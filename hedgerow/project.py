"""A project: its anchors, variants, releases and models."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from db.engine import reading
from db.errors import HedgerowError
from db.failures import shown_address
from db.named_files import resolved
from db.settings import Settings, load_settings
from hedgerow import arguments
from hedgerow.anchors import Anchors
from hedgerow.assigning import Assigning
from hedgerow.generating import Generating
from hedgerow.home import Home, acting, home_of
from hedgerow.judging import Judging
from hedgerow.modelling import LanguageModels, Modelling
from hedgerow.progress import progress_bar
from hedgerow.reviewing import Reviewing
from hedgerow.upkeep import Upkeep
from hedgerow.variants import Variants

if TYPE_CHECKING:
    import pandas as pd

    from curation.importing.corpora import Loaded
    from hedgerow.releases import Release


class Project(Generating, Reviewing, Assigning, Judging, Modelling, LanguageModels, Upkeep):
    """A project, opened with `hedgerow.open`.

    Attributes:
        anchors: the anchors. ``project.anchors()`` lists them, ``project.anchors.add()`` adds some
            (see `hedgerow.anchors.Anchors`).
        variants: the variants. ``project.variants()`` lists them, ``project.variants.add()``
            imports some (see `hedgerow.variants.Variants`).
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
        from curation.overview.next_steps import project_counts

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

        from hedgerow import corpora

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
        from hedgerow import corpora
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
        from hedgerow import corpora

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
        from hedgerow.releases import Release

        sources = arguments.names(sources, what="sources")
        request = arguments.request(CreateRelease, locals())
        row, created = CREATE_RELEASE.perform(acting(self._home), request)
        return Release(self._home, row, created=created)

    def releases(self) -> list[Release]:
        """All releases, newest first.

        >>> example_project().releases()
        []
        """
        from hedgerow.releases import releases

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
        from hedgerow.releases import find_release

        return find_release(self._home, number)


# -- Opening a project -----------------------------------------------------------------------------


def open(
    place: str | os.PathLike[str] | None = None, *, create: bool = True, reviewer: str = ""
) -> Project:
    """Open a project. The web app and the command line can use it at the same time.

    Args:
        place: the folder of the project, or the address of a PostgreSQL database such as
            ``postgresql://host/name``. By default, HEDGEROW_DATABASE_URL and HEDGEROW_HOME
            determine the project; if neither is set, it is the current folder.
        create: whether to create an empty project if there is none.
        reviewer: the name that your decisions are stored under; by default HEDGEROW_REVIEWER.

    Raises:
        HedgerowError: there is no project and ``create`` is False, or the database cannot be
            opened.
        hedgerow.own_packages.ShadowedPackageError: one of your folders or files has the same name
            as one of Hedgerow's packages and is found first.

    >>> project = hedgerow.open("somewhere")
    >>> len(project.anchors())
    0
    """
    return Project(home_of(_settings(place, reviewer=reviewer), create=create))


def restore(
    file: str | os.PathLike[str],
    place: str | os.PathLike[str] | None = None,
    *,
    reviewer: str = "",
) -> Project:
    """Restore a project from a backup, and open it.

    Args:
        file: a file written by `Project.backup`, or the copy (.bak) that an upgrade made.
        place: a new folder, or the address of an empty PostgreSQL database; by default as in
            `open`.
        reviewer: as in `open`.

    Raises:
        HedgerowError: the file is damaged, is not a backup, or was written by a newer version of
            Hedgerow, or there is already a project. Nothing is changed in these cases.

    >>> file = example_project().backup("safe.zip")
    >>> len(hedgerow.restore(file, "elsewhere").anchors())
    1
    """
    from curation.upkeep.restoring import restore_backup

    settings = _settings(place, reviewer=reviewer)
    with progress_bar() as report:
        restore_backup(settings, resolved(os.fspath(file)), report=report)
    return Project(home_of(settings, create=False))


def _settings(place: str | os.PathLike[str] | None, *, reviewer: str) -> Settings:
    given: dict[str, Any] = {"reviewer": reviewer} if reviewer else {}
    if place is not None:
        address = os.fspath(place)
        if "://" in address:
            given["database_url"] = address
        elif Path(address).is_file():
            raise HedgerowError(
                f"Expected the folder of a project or the address of a database, found the file "
                f"{address}; open a folder, and add anchors from the file with anchors.add."
            )
        else:
            given |= {"home": Path(address), "database_url": ""}
    return load_settings(**given)
