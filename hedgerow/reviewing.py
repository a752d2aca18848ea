"""What a reviewer does with a project's variants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from db.engine import reading
from db.errors import HedgerowError
from db.models import Verdict
from hedgerow.data import adjudicating, deciding
from hedgerow.data.deciding import ByRule, Decided, Undone
from hedgerow.home import Home

if TYPE_CHECKING:
    import pandas as pd


class Reviewing:
    """The decisions of `hedgerow.Project`."""

    _home: Home

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

    def conflicts(
        self, *, type: str | tuple[str, ...] = (), source: str = "", order: str = "oldest"
    ) -> pd.DataFrame:
        """Variants in conflict, with what each person said.

        Args:
            type: one variant type or several, such as 'verbal'; all without one.
            source: the name of the source of the anchors.
            order: oldest, or most-disputed: those first on which most people contradict the others.

        Returns:
            A row a variant: uid, type, source, anchor, text, people (who decided), dispute (how
            many of them contradict the most frequent verdict), since (of the latest verdict), and
            verdicts, a list of dictionaries with reviewer, verdict, reason, note, at, seconds (from
            showing to decision) and wording (an edit's).

        Raises:
            HedgerowError: no such type, source or order.

        >>> project = example_project()
        >>> uid = project.variants(status="pending")["uid"].iloc[0]
        >>> decided = project.accept(uid, reviewer="me")
        >>> decided = project.reject(uid, reviewer="you", note="Hardly.")
        >>> found = project.conflicts()
        >>> [(one["reviewer"], one["verdict"]) for one in found["verdicts"].iloc[0]]
        [('me', 'accept'), ('you', 'reject')]
        """
        return adjudicating.conflicts(self._home, type, source, order)

    def discuss(
        self, uid: str, remark: str = "", *, lift: bool = False, reviewer: str = ""
    ) -> bool:
        """Mark a variant “discuss”, which decides nothing, or lift the mark.

        Args:
            remark: what there is to discuss.
            lift: lift the mark, whoever made it.
            reviewer: as in `accept`.

        Returns:
            Whether it is marked now.

        Raises:
            HedgerowError: as in `accept`; it is marked already, or there is no mark to lift.

        >>> project = example_project()
        >>> uid = project.variants()["uid"].iloc[0]
        >>> project.discuss(uid, "Is this a hedge?", reviewer="me")
        True
        >>> list(project.marked()["remark"])
        ['Is this a hedge?']
        >>> project.discuss(uid, lift=True, reviewer="you")
        False
        """
        return adjudicating.discuss(self._home, uid, remark, lift=lift, reviewer=reviewer)

    def marked(self, *, type: str | tuple[str, ...] = (), source: str = "") -> pd.DataFrame:
        """Variants that are marked “discuss”, the oldest mark first.

        Args:
            type, source: as in `conflicts`.

        Returns:
            A row a mark: uid, type, status, anchor, text, reviewer, remark, marked_at.

        Raises:
            HedgerowError: no such type or source.

        >>> len(example_project().marked())
        0
        """
        return adjudicating.marked(self._home, type, source)

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
        """Take back the last thing a reviewer did: a decision, a rule's, an edit, a note or a mark.

        Raises:
            HedgerowError: there is no such reviewer.

        >>> project = example_project()
        >>> uid = project.variants(status="pending")["uid"].iloc[0]
        >>> decided = project.accept(uid, reviewer="me")
        >>> project.undo(reviewer="me").number
        1
        """
        return deciding.undo(self._home, reviewer)

    def agreement(
        self, by: str = "", *, independent: bool = True, source: str = ""
    ) -> pd.DataFrame:
        """How far people agree on the variants that several of them have decided on.

        Accepting a variant is one verdict; rejecting and editing it are the other.

        Args:
            by: type, pair (of people), cue or source; all together without one.
            independent: count only what people said before they knew anybody else's verdict.
            source: only variants of this source of anchors.

        Returns:
            A row for each group, the one with most variants first: how many variants and verdicts,
            the share that accepts, the share of pairs of verdicts that agree, Krippendorff's alpha,
            and Cohen's kappa where it is two people, each with a 95% interval.

        Raises:
            HedgerowError: there is no such group or source.

        >>> project = example_project()
        >>> for uid in project.variants(type="verbal")["uid"]:
        ...     for name in ("Ada", "Ben"):
        ...         decided = project.accept(uid, reviewer=name)
        >>> project.agreement(by="type")[["type", "variants", "agreement"]]
             type  variants  agreement
        0  verbal         1        1.0
        """
        import pandas as pd

        from hedgerow.data import agreement

        group = agreement.by_name(by)
        with reading(self._home.engine) as session:
            found = agreement.read_agreement(session, independent=independent, source=source)
            rows = list(agreement.rows(session, found.counted, group))
        made = pd.DataFrame(rows, columns=agreement.columns(group))
        return made.astype(dict.fromkeys(agreement.SHARES, float))

    def shared_verdicts(self, *, independent: bool = True, source: str = "") -> pd.DataFrame:
        """Every verdict on the variants that `agreement` counts, with both texts.

        Returns:
            A row for each verdict, with who gave it, why, and whether it is independent.

        Raises:
            HedgerowError: there is no such source.

        >>> project = example_project()
        >>> uid = project.variants(type="verbal")["uid"].iloc[0]
        >>> decided = project.accept(uid, reviewer="Ada")
        >>> decided = project.reject(uid, reviewer="Ben", note="Not idiomatic.")
        >>> project.shared_verdicts()[["reviewer", "verdict", "note"]]
          reviewer verdict            note
        0      Ada  accept
        1      Ben  reject  Not idiomatic.
        """
        import pandas as pd

        from curation.review.agreement.records import COLUMNS, ids_of, records, table
        from hedgerow.data.agreement import read_agreement

        with reading(self._home.engine) as session:
            found = read_agreement(session, independent=independent, source=source)
            rows = list(table(records(session, ids_of(found.counted))))
        return pd.DataFrame(rows, columns=list(COLUMNS))


def _verdict(name: str) -> Verdict:
    found = {"accept": Verdict.ACCEPT, "reject": Verdict.REJECT}.get(name)
    if found is None:
        raise HedgerowError(f"Expected accept or reject, found {name!r}.")
    return found
