"""Second opinions from chat models on a project's variants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from curation.diagnostics.opinions import GivenOpinion
from hedgerow import arguments
from hedgerow.home import Home, acting

if TYPE_CHECKING:
    import pandas as pd


class Judging:
    """The methods of `hedgerow.Project` for second opinions."""

    _home: Home

    def judge(
        self,
        *,
        model: str,
        base_url: str = "",
        types: str | Sequence[str] = (),
        status: str | None = "pending",
        variants: str | Sequence[str] = (),
        flagged: bool = False,
        limit: int | None = None,
        sample: int | None = None,
        prompt: int | None = None,
        budget: float | None = None,
        max_calls: int | None = None,
        dry_run: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        """Ask a chat model for its opinion on variants, except those it has already judged.

        An opinion does not change a variant's status unless you enable the model in the settings.

        Args:
            model, base_url, budget, max_calls: as in `hedgerow.Project.generate`.
            types, status, variants: only variants of these types, with this status (None for all
                except superseded ones), or with these uids.
            flagged: only flagged variants.
            limit: the size of a random sample.
            sample: the number of a calibration sample, to judge only its variants.
            prompt: the version of the prompt; by default the newest version.
            dry_run: only estimate the cost.
            options: other fields of the request, such as ``concurrency=8`` or ``max_tokens=2000``.

        Returns:
            The result of the run, with its number as ``run`` and the model's name as ``reviewer``.
            For a dry run: variants, anchors, and the estimated tokens, cost and seconds, which are
            None if unknown.

        Raises:
            HedgerowError: there is nothing to judge, a value is invalid, or the run ends early.
                The same call then resumes the run.

        >>> example_project().judge(model="gpt-4o-mini", dry_run=True)["variants"]
        1
        """
        from curation.generation.judging.opinion_run import JUDGE_VARIANTS
        from hedgerow.generation import cost_facts, cost_of_judging, judge_request_of
        from hedgerow.running import carry_out

        values = {
            "model": model,
            "base_url": base_url,
            "budget": {"money": budget, "calls": max_calls},
            "selection": {
                "types": arguments.names(types, what="types"),
                "status": status,
                "variants": arguments.names(variants, what="uids of variants"),
                "flagged": flagged,
                "limit": limit,
            },
            **options,
        }
        request = judge_request_of(
            self._home, values, prompt=prompt, sample=sample, dry_run=dry_run
        )
        if dry_run:
            return cost_facts(cost_of_judging(self._home, request))
        return carry_out(*self._home, JUDGE_VARIANTS.perform(acting(self._home), request).id)

    def opinions(self, uid: str, *, reviewer: str = "") -> pd.DataFrame:
        """The models' opinions on a variant, newest first.

        Hedgerow records that you have seen the opinions, and excludes your later decisions on this
        variant from the agreement with models.

        Args:
            uid: the uid of the variant.
            reviewer: as in `accept`.

        Returns:
            One row per opinion: reviewer, counts (whether the model's verdicts count), verdict
            (accept, reject or edit), reason, comment, suggestion, certainty in [0, 1], decided_at.

        Raises:
            HedgerowError: as in `accept`.

        >>> project = example_project()
        >>> len(project.opinions(project.variants()["uid"].iloc[0]))
        0
        """
        import pandas as pd

        from hedgerow.generation import show_opinions

        found = show_opinions(self._home, uid, reviewer)
        return pd.DataFrame(found, columns=list(GivenOpinion._fields))

    def agreement_of_models(self) -> pd.DataFrame:
        """Each model's agreement with people, by variant type.

        Returns:
            One row per model and type: judge, type_id, pairs (number of pairs of an opinion and a
            person's verdict), share (of pairs that agree, in [0, 1]), kappa (Cohen's, in [-1, 1]),
            and after_looking (pairs left out because the person had seen the opinion).

        >>> len(example_project().agreement_of_models())
        0
        """
        import pandas as pd

        from hedgerow.generation import agreements

        columns = ["judge", "type_id", "pairs", "share", "kappa", "after_looking"]
        rows = [
            (judge.name, row.type_id, row.pairs, row.share, row.kappa, row.after_looking)
            for judge, types in agreements(self._home)
            for row in types
        ]
        return pd.DataFrame(rows, columns=columns)
