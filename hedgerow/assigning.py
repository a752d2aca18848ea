"""The assignment of variants to reviewers, and reviewers' quotas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow.data import assigning
from hedgerow.data.assigning import Assignment
from hedgerow.home import Home

if TYPE_CHECKING:
    import pandas as pd


class Assigning:
    """The methods of `hedgerow.Project` for the assignment and quotas."""

    _home: Home

    def assign(self, *, reviewers: int = 2, share: float) -> Assignment:
        """Have several people decide on a share of the variants, without seeing each other's
        verdicts.

        Earlier decisions are kept and still count.

        Args:
            reviewers: number of people who decide on each of these variants.
            share: share of all variants, in [0, 1]; 0 ends the assignment.

        Raises:
            HedgerowError: an argument is out of range.

        >>> project = example_project()
        >>> project.assign(reviewers=2, share=1).verdicts["verbal"]
        [1, 0, 0]
        """
        return assigning.assign(self._home, reviewers=reviewers, share=share)

    def assignment(self) -> Assignment:
        """The current assignment and its progress.

        >>> example_project().assignment().meaning
        ['One person decides on each variant.']
        """
        return assigning.assignment(self._home)

    def set_quota(self, reviewer: str, variants: int | None, *, type: str = "") -> None:
        """Set the number of variants that a person should decide on. Decisions are kept.

        Args:
            reviewer: a person's name.
            variants: the quota; None removes it.
            type: the variant type that the quota is for; '' for all types combined.

        Raises:
            HedgerowError: there is no such person, type or quota, or the number is out of range.

        >>> project = example_project()
        >>> uid = project.variants(type="verbal")["uid"].iloc[0]
        >>> decided = project.accept(uid, reviewer="Ada")
        >>> project.set_quota("Ada", 50, type="verbal")
        >>> project.quotas()
          reviewer    type  quota  done
        0      Ada  verbal     50     1
        """
        assigning.set_quota(self._home, reviewer, variants, type_id=type)

    def quotas(self) -> pd.DataFrame:
        """The quotas of all people.

        Returns:
            One row per quota: reviewer, type ('' for all types combined), quota, done.

        >>> len(example_project().quotas())
        0
        """
        return assigning.quotas(self._home)
