"""Generating and measuring variants of a project's anchors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from db.engine import reading
from db.runs import get_run
from hedgerow import arguments
from hedgerow.home import Home, acting

if TYPE_CHECKING:
    import pandas as pd


class Generating:
    """The methods of `hedgerow.Project` that generate and measure variants."""

    _home: Home

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
        """Generate variants of anchors that have none. The new variants are pending.

        Args:
            provider: 'openai' for any server with an OpenAI-compatible API, 'rules', or the name
                of a plug-in's provider.
            model: the server's name of the model.
            base_url: the address of the server. The API key is read from OPENAI_API_KEY.
            roles: the kinds of variants to request for each anchor, one call each.
            types: only these variant types.
            source, search, anchors: only anchors from this source, containing this text, or with
                these uids.
            limit: generate for a random sample of this many anchors.
            seed: determines the sample and the hedge cues.
            temperature: the sampling temperature of the model.
            budget, max_calls: pause at this cost in US dollars, or after this many calls.
            dry_run: only estimate the cost.
            options: other fields of `curation.generation.request.GenerationRequest`, such as
                ``concurrency=8`` or ``batch=True``.

        Returns:
            The result of the run, with its number as ``run``. `failed_calls` lists the calls that
            failed and why. For a dry run: the estimated anchors, calls, tokens, cost and seconds,
            which are None if unknown.

        Raises:
            HedgerowError: there is nothing to generate, a value is invalid, or the run ends early.
                The answers received so far stay stored.

        >>> project = example_project()
        >>> project.anchors.add(["The lamp is bright."]).count
        1
        >>> project.generate(provider="rules", types=["verbal"])["done"]
        1
        """
        from curation.generation.run import GENERATE
        from hedgerow.generation import cost_of, request_of
        from hedgerow.running import carry_out

        values = {
            "provider": provider,
            "model": model,
            "base_url": base_url,
            "roles": arguments.names(roles, what="roles"),
            "seed": seed,
            "temperature": temperature,
            "budget": {"money": budget, "calls": max_calls},
            "selection": {
                "search": search,
                "limit": limit,
                "types": arguments.names(types, what="types"),
                "anchors": arguments.names(anchors, what="uids of anchors"),
            },
        }
        request, is_priced = request_of(
            self._home, {**values, **options}, source=source, dry_run=dry_run
        )
        if dry_run:
            return cost_of(self._home, request, is_priced=is_priced).facts
        return carry_out(*self._home, GENERATE.perform(acting(self._home), request).id)

    def failed_calls(self, run: int) -> pd.DataFrame:
        """The calls of a generation run that failed or did not return every requested type.

        Args:
            run: the number of the run.

        Returns:
            One row per call: uid and text of the anchor, role, requested types, whether the call
            failed or is incomplete, and the problem with the last answer.

        Raises:
            HedgerowError: no run has this number.

        >>> project = example_project()
        >>> project.anchors.add(["The car goes fast."]).count
        1
        >>> done = project.generate(provider="rules", types=["affixal"])
        >>> print(project.failed_calls(done["run"])["problem"].iloc[0])
        no rule fits: affixal: no safe antonym is known
        """
        import pandas as pd

        from curation.generation.missing_variants import IncompleteCall, incomplete_calls

        with reading(self._home.engine) as session:
            rows = incomplete_calls(session, get_run(session, run).id)
        return pd.DataFrame(rows, columns=list(IncompleteCall._fields))

    def diagnose(self, *, encoder: str = "") -> dict[str, Any]:
        """Compute missing diagnostics of variants: distances, flags and cosine similarities.

        Args:
            encoder: the name or folder of an encoder, which becomes the active encoder; by
                default the currently active encoder.

        Returns:
            The result of the run, with its number as ``run``.

        Raises:
            HedgerowError: the encoder is unknown, or another process is measuring variants.

        >>> project = example_project()
        >>> project.diagnose()["state"]
        'done'
        >>> bool(project.variants()["cosine"].notna().all())
        True
        """
        from curation.diagnostics.measuring import KIND as MEASURE
        from curation.encoders.registered import encoder_name
        from hedgerow.running import carry_out_one

        settings, engine = self._home
        with reading(engine) as session:
            name = encoder_name(session, settings, encoder) if encoder else ""
        return carry_out_one(settings, engine, MEASURE, {"encoder": name} if name else {})

    def similar_variants(self, uid: str, *, limit: int = 20) -> pd.DataFrame:
        """The variants of other anchors that are most similar to a variant.

        Hedgerow first computes missing embeddings with the active encoder.

        Args:
            uid: the uid of the variant.
            limit: the maximum number of variants to return.

        Returns:
            One row per variant, most similar first: uid, cosine (in [-1, 1]), type, status, text.

        Raises:
            HedgerowError: no variant has this uid.

        >>> project = example_project()
        >>> uid = project.variants()["uid"].iloc[0]
        >>> list(project.similar_variants(uid, limit=5).columns)
        ['uid', 'cosine', 'type', 'status', 'text']
        """
        from hedgerow.variants import similar

        return similar(self._home, uid, limit)
