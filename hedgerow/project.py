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
from db.models import RunState, Split, Verdict
from db.settings import load_settings
from hedgerow import asked, deciding
from hedgerow.anchors import Anchors
from hedgerow.deciding import ByRule, Decided, Undone
from hedgerow.home import Home, home_of
from hedgerow.variants import Variants

if TYPE_CHECKING:
    import pandas as pd

    from hedgerow.benchmarks import Score
    from hedgerow.releases import Release
    from hedgerow.similarities import Model
    from hedgerow.trained import TrainedEncoder


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
        else:
            given |= {"home": Path(address), "database_url": ""}
    return Project(home_of(load_settings(**given), create=create))


class Project:
    """A project, opened with `hedgerow.open`.

    Attributes:
        anchors: call it to list anchors; `hedgerow.anchors.Anchors.add` adds some.
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
            What the run came to, with its number as ``run``; of a dry run anchors, calls, tokens,
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
        from hedgerow import generating
        from hedgerow.running import carry_out

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
        from hedgerow.running import carry_out

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

    def accept(self, uid: str, *, reviewer: str = "", note: str = "") -> Decided:
        """Accept a variant as it stands.

        Args:
            uid: of the variant.
            reviewer: who decides; otherwise the name that the project was opened with.
            note: a remark, stored with the decision.

        Raises:
            HedgerowError: there is no such variant, or no name of a reviewer.

        >>> project = example_project()
        >>> uid = project.variants(status="pending")["uid"].iloc[0]
        >>> project.accept(uid, reviewer="me").status
        'accepted'
        """
        return deciding.accept(self._home, uid, reviewer, note)

    def reject(self, uid: str, *, reason: str = "", reviewer: str = "", note: str = "") -> Decided:
        """Reject a variant.

        Args:
            uid: of the variant.
            reason: an id such as 'wrong_type'; without one 'other'.
            reviewer, note: as in `accept`.

        Raises:
            HedgerowError: as in `accept`, or there is no such reason.

        >>> project = example_project()
        >>> uid = project.variants(status="pending")["uid"].iloc[0]
        >>> project.reject(uid, reviewer="me", note="Nobody says so.").status
        'rejected'
        """
        return deciding.reject(self._home, uid, reason, reviewer, note)

    def edit(
        self,
        uid: str,
        text: str | None = None,
        *,
        type: str | None = None,
        cue: str | None = None,
        reviewer: str = "",
        note: str = "",
    ) -> Decided:
        """Replace a variant by a better wording, or give it its right type or cue.

        Returns:
            With the uid of the new variant as ``child``; that one is accepted.

        Raises:
            HedgerowError: as in `accept`, nothing is changed, or there is no such type.

        >>> project = example_project()
        >>> uid = project.variants(status="pending")["uid"].iloc[0]
        >>> project.edit(uid, "The bridge isn't safe.", reviewer="me").status
        'superseded'
        """
        return deciding.edit(self._home, uid, text, type, cue, reviewer, note)

    def write(
        self, anchor: str, type: str, text: str, *, cue: str | None = None, reviewer: str = ""
    ) -> Decided:
        """Add a variant of your own, accepted at once.

        Args:
            anchor: the uid of the anchor it is made for.
            type: its variant type, such as 'verbal'; ``cue`` where the type has one.

        Raises:
            HedgerowError: there is no such anchor or type, or the text can't be a variant.

        >>> project = example_project()
        >>> anchor = project.anchors()["uid"].iloc[0]
        >>> project.write(anchor, "verbal", "The bridge was never safe.", reviewer="me").status
        'accepted'
        """
        return deciding.write(self._home, anchor, type, text, cue, reviewer)

    def settle(
        self, uid: str, verdict: str, *, reason: str = "", reviewer: str = "", note: str = ""
    ) -> Decided:
        """Settle a conflict: this verdict counts instead of those that contradict each other.

        Args:
            verdict: accept or reject.

        Raises:
            HedgerowError: as in `accept` and `reject`, or the variant is in no conflict.

        >>> project = example_project()
        >>> uid = project.variants(status="pending")["uid"].iloc[0]
        >>> decided = project.accept(uid, reviewer="me")
        >>> project.reject(uid, reviewer="you", note="Hardly.").in_conflict
        True
        >>> project.settle(uid, "accept", reviewer="me").status
        'accepted'
        """
        if _verdict(verdict) is Verdict.ACCEPT:
            if reason:
                raise HedgerowError("Expected a reason with 'reject' only; give a note instead.")
            return deciding.accept(self._home, uid, reviewer, note, settles=True)
        return deciding.reject(self._home, uid, reason, reviewer, note, settles=True)

    def decide_by_rule(
        self,
        rule: str,
        verdict: str,
        *,
        reason: str = "",
        note: str = "",
        type: str | None = None,
        reviewer: str = "",
        dry_run: bool = False,
    ) -> ByRule:
        """Decide on every pending variant that a rule matches; one undo takes it back.

        Args:
            rule: such as 'levenshtein > 60', 'no flags' or 'source = NAME', joined by 'and'.
            verdict: accept or reject.
            type: only variants of this type.
            dry_run: only count.

        Raises:
            HedgerowError: the rule can't be read, or as in `accept` and `reject`.

        >>> project = example_project()
        >>> measured = project.diagnose()
        >>> project.decide_by_rule("levenshtein < 10", "accept", reviewer="me").matches.total
        1
        """
        return deciding.decide_by_rule(
            self._home,
            rule,
            _verdict(verdict),
            reason=reason,
            note=note,
            types=() if type is None else (type,),
            reviewer=reviewer,
            dry_run=dry_run,
        )

    def note(self, uid: str, text: str, *, reviewer: str = "") -> int:
        """Leave a note on a variant that decides nothing; how many it has now.

        Raises:
            HedgerowError: as in `accept`, or the note is empty.

        >>> project = example_project()
        >>> project.note(project.variants()["uid"].iloc[0], "As in the south.", reviewer="me")
        1
        """
        return deciding.leave_note(self._home, uid, text, reviewer)

    def undo(self, *, reviewer: str = "") -> Undone:
        """Take back the last thing a reviewer did: a decision, a rule's, an edit or a note.

        Raises:
            HedgerowError: there is no such reviewer.

        >>> project = example_project()
        >>> uid = project.variants(status="pending")["uid"].iloc[0]
        >>> decided = project.accept(uid, reviewer="me")
        >>> project.undo(reviewer="me").number
        1
        """
        return deciding.undo(self._home, reviewer)

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
        from hedgerow.releases import make_release

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
        from hedgerow.releases import releases

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
        from hedgerow.releases import find_release

        return find_release(self._home, number)

    def train(
        self,
        release: Release | int | None = None,
        *,
        preset: str | None = None,
        recipe: str | Path | None = None,
        seed: int | None = None,
        **settings: Any,
    ) -> TrainedEncoder:
        """Finetune an encoder on a release and measure what that changed.

        Args:
            release: otherwise the newest, made of all sources if there is none.
            preset: quick, standard, thorough or paper; otherwise the one that fits the release.
            recipe: a YAML file in place of a preset.
            seed: decides order and dropout; the same one unless named.
            settings: changes of the recipe, such as ``max_steps=100`` or
                ``base_encoder="my_encoder"`` (see docs/training.md).

        Returns:
            A `SentenceTransformer` with ``run``, ``folder`` and ``figures``.

        Raises:
            HedgerowError: too little to train on, a wrong setting, or the run ended early;
                'hedgerow run ID' goes on with it.
        """
        from hedgerow.training import train

        return train(
            self._home,
            _number(release),
            preset=preset,
            recipe=Path(recipe) if recipe else None,
            settings=settings,
            seed=_seed(seed),
        )

    def similarity(
        self,
        model: Model,
        pairs: Iterable[Sequence[str]] | None = None,
        *,
        before: Model | None = None,
    ) -> pd.DataFrame:
        """How similar sentence pairs are to a model, and to another before it.

        Args:
            model: a loaded encoder, a folder, or a name.
            pairs: of two sentences each, and a label if you like; otherwise those of the
                HedgeTriple paper's Figure 1.
            before: what to compare it with.

        Returns:
            anchor, text, label, series ('before' or 'after') and cosine in [-1, 1].

        Raises:
            HedgerowError: no such encoder, or something else than pairs.

        >>> rows = example_project().similarity("all-MiniLM-L6-v2", [("It is on.", "It is on.")])
        >>> rows["cosine"].round(2).tolist()
        [1.0]
        """
        from hedgerow.similarities import similarities

        return similarities(self._home, model, pairs, before)

    def benchmark(
        self,
        model: TrainedEncoder | str | Path,
        name: str,
        *,
        data: str | Path | None = None,
        architecture: str = "",
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        release: Release | int | None = None,
        split: str = "test",
    ) -> Score:
        """Measure a model with a benchmark, or with a task of mteb's or lm_eval's.

        Args:
            model: one that was trained here, a folder, or a name.
            name: such as 'semantoneg' or 'nevir', see docs/benchmarks.md; or 'mteb:TASK'; or
                'lm_eval:TASK' for a language model.
            data: in the published format; otherwise what was named last, or the model hub's. For
                'lm_eval:TASK', a folder with tasks of your own.
            architecture: otherwise what the model's files say.
            query_prompt, document_prompt: put before each; otherwise the model's own.
            release, split: what 'hedgerow' measures on: the newest, and test, unless named.

        Raises:
            HedgerowError: no such model, benchmark or data, or the run ended early.
        """
        from hedgerow.benchmarks import measure

        scores = measure(
            self._home,
            name,
            _name_of(self._home, model),
            data=Path(data) if data else None,
            release=_number(release),
            split=asked.split_of(split) or Split.TEST,
            options={
                "architecture": architecture,
                "query_prompt": query_prompt,
                "document_prompt": document_prompt,
            },
        )
        return scores[0]


def _number(release: Release | int | None) -> int | None:
    if release is None or isinstance(release, int):
        return release
    number = getattr(release, "number", None)
    if not isinstance(number, int):
        raise HedgerowError(f"Expected a release or its number, found {release!r}.")
    return number


def _seed(given: int | None) -> int | None:
    if given is not None and not isinstance(given, int):
        raise HedgerowError(f"Expected a seed, a whole number, found {given!r}.")
    return given


def _verdict(name: str) -> Verdict:
    found = {"accept": Verdict.ACCEPT, "reject": Verdict.REJECT}.get(name)
    if found is None:
        raise HedgerowError(f"Expected accept or reject, found {name!r}.")
    return found


def _name_of(home: Home, model: TrainedEncoder | str | Path) -> str:
    """The folder or name by which a run finds a model again."""
    if isinstance(model, str | Path):
        return str(model)
    folder = getattr(model, "folder", None)
    if folder is None:
        raise HedgerowError(
            f"Expected a model that was trained here, a folder or a name, found a "
            f"{type(model).__name__} in memory; save it with save_pretrained and give its folder."
        )
    from curation.encoders.registered import encoder_name

    with reading(home.engine) as session:
        return encoder_name(session, home.settings, str(folder))
