"""Second opinions on a project's variants, by chat models that are asked for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hedgerow import asked
from hedgerow.home import Home

if TYPE_CHECKING:
    import pandas as pd


class Judging:
    """The second opinions of `hedgerow.Project`."""

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
        """Ask a chat model for its opinion on variants; what it has judged already is left out.

        An opinion decides nothing unless you switch the model on in the settings.

        Args:
            model, base_url, budget, max_calls: as in `hedgerow.Project.generate`.
            types, status, variants: only variants of these types, of this status (None for all but
                replaced wordings), or with these uids.
            flagged: only those that the checks flag.
            limit: a sample of so many.
            sample: number of a sample that was drawn for calibration; its variants then.
            prompt: version of the prompt; otherwise the newest.
            dry_run: only say what it would take.
            options: further values, such as ``concurrency=8`` or ``max_tokens=2000``.

        Returns:
            What the run came to, with its number as ``run`` and the model's name as ``reviewer``.
            Of a dry run variants, anchors, tokens, cost and seconds, None while nothing is known.

        Raises:
            HedgerowError: there is nothing to judge, a value is not usable, or the run ended early;
                the same call goes on with it then.

        >>> example_project().judge(model="gpt-4o-mini", dry_run=True)["variants"]
        1
        """
        from hedgerow.data import judging
        from hedgerow.runs.running import carry_out

        values = {
            "model": model,
            "base_url": base_url,
            "budget": {"money": budget, "calls": max_calls},
            "selection": {
                "types": asked.names(types, what="types"),
                "status": status,
                "variants": asked.names(variants, what="uids of variants"),
                "flagged": flagged,
                "limit": limit,
            },
            **options,
        }
        if dry_run:
            found = judging.cost_of_judging(self._home, values, prompt=prompt, sample=sample)
            return judging.cost_facts(found)
        run = judging.store_judging(self._home, values, prompt=prompt, sample=sample)
        return carry_out(*self._home, run)

    def opinions(self, uid: str, *, reviewer: str = "") -> pd.DataFrame:
        """What models say of a variant, the newest first.

        You have seen them then: what you decide on this variant later is not counted as agreement.

        Returns:
            reviewer, verdict (accept, reject or edit), reason, comment, suggestion, certainty in
            [0, 1], and whether the model counts; a row an opinion.

        Raises:
            HedgerowError: as in `accept`.

        >>> project = example_project()
        >>> len(project.opinions(project.variants()["uid"].iloc[0]))
        0
        """
        import pandas as pd

        from curation.review.opinions.stored import GivenOpinion
        from hedgerow.data import opinions

        found = opinions.show_opinions(self._home, uid, reviewer)
        return pd.DataFrame(found, columns=list(GivenOpinion._fields))

    def agreement_of_models(self) -> pd.DataFrame:
        """How far each model that was asked agrees with people, by variant type.

        Returns:
            judge, type_id, how many pairs of an opinion and a person's verdict there are, the
            share in [0, 1] that agrees, Cohen's kappa in [-1, 1], and how many pairs are left out,
            since the person had seen the opinion.

        >>> len(example_project().agreement_of_models())
        0
        """
        import pandas as pd

        from hedgerow.data import opinions

        columns = ["judge", "type_id", "pairs", "share", "kappa", "after_looking"]
        rows = [
            (judge.name, row.type_id, row.pairs, row.share, row.kappa, row.after_looking)
            for judge, types in opinions.agreements(self._home)
            for row in types
        ]
        return pd.DataFrame(rows, columns=columns)
