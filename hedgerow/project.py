"""A project: its anchors, variants, releases and models."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from db.engine import reading, writing
from db.errors import HedgerowError
from db.failures import shown_address
from db.models import RunState
from db.runs import get_run
from db.settings import load_settings
from hedgerow import asked
from hedgerow.data.anchors import Anchors
from hedgerow.data.variants import Variants
from hedgerow.home import Home, home_of
from hedgerow.modelling import Modelling
from hedgerow.reviewing import Reviewing

if TYPE_CHECKING:
    import pandas as pd

    from hedgerow.data.releases import Release


def open(
    place: str | os.PathLike[str] | None = None, *, create: bool = True, reviewer: str = ""
) -> Project:
    """Open a project, the same one as in the browser and on the command line.

    Args:
        place: its folder, or the address of a PostgreSQL database such as
            ``postgresql://host/name``. Without one, what HEDGEROW_HOME and HEDGEROW_DATABASE_URL
            name, otherwise the current folder.
        create: make it if nothing is there; it is empty then.
        reviewer: the name that decisions are stored under (otherwise HEDGEROW_REVIEWER).

    Raises:
        HedgerowError: there is no project and none may be made, or its database cannot be opened.
        hedgerow.own_packages.ShadowedPackageError: a folder or file of yours has the name of one
            of Hedgerow's packages.

    >>> project = hedgerow.open("somewhere")
    >>> len(project.anchors())
    0
    """
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
    return Project(home_of(load_settings(**given), create=create))


class Project(Reviewing, Modelling):
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
        """Let go of the database; the project opens again when it is used.

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

    def load_starter_corpus(self) -> int:
        """Load the starter corpus, passages and exclusions, as 'hedgerow init' does.

        Returns:
            Anchors that were added; 0 where they are there already.

        >>> hedgerow.open("with a corpus").load_starter_corpus() > 1000
        True
        """
        from curation.corpora.loading import load_first

        with writing(self._home.engine) as session:
            return load_first(session).anchors

    def generate(
        self,
        *,
        provider: str = "openai",
        model: str = "",
        base_url: str = "",
        roles: Sequence[str] = ("negation", "hedge"),
        types: Sequence[str] = (),
        source: str = "",
        search: str = "",
        anchors: Sequence[str] = (),
        limit: int | None = None,
        seed: int = 0,
        temperature: float = 1.0,
        budget: float | None = None,
        max_calls: int | None = None,
        dry_run: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        """Write variants of anchors that have none; they are pending then.

        Args:
            provider: openai (any server that speaks its protocol), rules, or that of a plug-in.
            model, base_url: as the server calls it, and the server's address. The key is
                OPENAI_API_KEY.
            roles: what to ask for about each anchor.
            types: only these variant types.
            source, search, anchors: only anchors of this source, with these words, or these uids.
            limit: a sample of so many anchors, drawn by ``seed``, which also draws the cues.
            budget, max_calls: pause when so many US dollars are spent, or after so many calls.
            dry_run: only say what it would take.
            options: further values of `curation.generation.request.GenerationRequest`, such as
                ``concurrency=8`` or ``batch=True``.

        Returns:
            What the run came to, with its number as ``run``; `failed_calls` says what is missing
            and why. Of a dry run anchors, calls, tokens,
            cost and seconds, None while nothing is known.

        Raises:
            HedgerowError: there is nothing to ask for, a value is not usable, or the run ended
                early; what was answered until then is stored.

        >>> project = example_project()
        >>> project.anchors.add(["The lamp is bright."]).count
        1
        >>> project.generate(provider="rules", types=["verbal"])["done"]
        1
        """
        from hedgerow.data import generating
        from hedgerow.runs.running import carry_out

        values = {
            "provider": provider,
            "model": model,
            "base_url": base_url,
            "roles": asked.names(roles, what="roles"),
            "seed": seed,
            "temperature": temperature,
            "budget": {"money": budget, "calls": max_calls},
            "selection": {
                "search": search,
                "limit": limit,
                "types": asked.names(types, what="types"),
                "anchors": asked.names(anchors, what="uids of anchors"),
            },
        }
        request, is_priced = generating.request_of(
            self._home, {**values, **options}, source=source, needs_key=not dry_run
        )
        if dry_run:
            return generating.cost_of(self._home, request, is_priced=is_priced).facts
        return carry_out(*self._home, generating.store_request(self._home, request))

    def failed_calls(self, run: int) -> pd.DataFrame:
        """The calls of a generation that failed, or whose answers lack a type that was asked for.

        Args:
            run: its number.

        Returns:
            A row a call: uid and text of the anchor, role, the types asked for, whether it failed
            or is incomplete, and what was wrong with the last answer.

        Raises:
            HedgerowError: there is no such run.

        >>> project = example_project()
        >>> project.anchors.add(["The car goes fast."]).count
        1
        >>> done = project.generate(provider="rules", types=["affixal"])
        >>> print(project.failed_calls(done["run"])["problem"].iloc[0])
        no rule fits: affixal: no sure opposite is known
        """
        import pandas as pd

        from curation.generation.lacking_calls import LackingCall, lacking_calls

        with reading(self._home.engine) as session:
            rows = lacking_calls(session, get_run(session, run).id)
        return pd.DataFrame(rows, columns=list(LackingCall._fields))

    def diagnose(self, *, encoder: str = "") -> dict[str, Any]:
        """Measure every variant that is not measured yet: distances, flags, cosine.

        Args:
            encoder: a name or a folder, which becomes the active one; otherwise the active one.

        Returns:
            What the run came to, with its number as ``run``.

        Raises:
            HedgerowError: no such encoder, or another process is measuring at present.

        >>> project = example_project()
        >>> project.diagnose()["state"]
        'done'
        >>> bool(project.variants()["cosine"].notna().all())
        True
        """
        from curation.diagnostics.measuring import KIND as MEASURE
        from curation.encoders.registered import encoder_name
        from db.runs import ensure_run
        from hedgerow.runs.running import carry_out

        settings, engine = self._home
        with reading(engine) as session:
            name = encoder_name(session, settings, encoder) if encoder else ""
        with writing(engine) as session:
            parameters = {"encoder": name} if name else {}
            run = ensure_run(session, kind=MEASURE, parameters=parameters).run  # one may wait
        if run.state == RunState.RUNNING:
            raise HedgerowError(
                f"Run {run.id} is measuring at present (process {run.pid} on {run.host}); wait for "
                f"it, or cancel it with 'hedgerow runs cancel {run.id}'."
            )
        return carry_out(settings, engine, run.id)

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
