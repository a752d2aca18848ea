"""Reviewing a project's variants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from db.engine import reading
from db.errors import HedgerowError
from db.models import Verdict
from hedgerow import deciding
from hedgerow.deciding import NO_REASON_TO_ACCEPT, ByRule, Decided, Undone
from hedgerow.home import Home

if TYPE_CHECKING:
    import pandas as pd


class Reviewing:
    """The methods of `hedgerow.Project` that review variants."""

    _home: Home

    def accept(self, uid: str, *, reviewer: str = "", note: str = "") -> Decided:
        """Accept a variant as it is.

        Args:
            uid: the uid of the variant.
            reviewer: your name; by default the name that the project was opened with.
            note: a remark that is stored with the decision.

        Raises:
            HedgerowError: no variant has this uid, or no reviewer is named.

        >>> project = example_project()
        >>> uid = project.variants(status="pending")["uid"].iloc[0]
        >>> project.accept(uid, reviewer="me").status
        'accepted'
        """
        return deciding.accept(self._home, uid, reviewer, note)

    def reject(self, uid: str, *, reason: str = "", reviewer: str = "", note: str = "") -> Decided:
        """Reject a variant.

        Args:
            uid: the uid of the variant.
            reason: the id of a reason, such as 'wrong_type'; by default 'other'.
            reviewer, note: as in `accept`.

        Raises:
            HedgerowError: as in `accept`, or the reason is unknown.

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
        """Replace the text of a variant, or correct its type or cue.

        Args:
            uid: the uid of the variant.
            text: the new text; by default the text stays the same.
            type, cue: the right variant type and hedge cue; by default unchanged.
            reviewer, note: as in `accept`.

        Returns:
            The decision. Its ``child`` is the uid of the new variant, which is accepted.

        Raises:
            HedgerowError: as in `accept`, nothing would change, or the type is unknown.

        >>> project = example_project()
        >>> uid = project.variants(status="pending")["uid"].iloc[0]
        >>> project.edit(uid, "The bridge isn't safe.", reviewer="me").status
        'superseded'
        """
        return deciding.edit(self._home, uid, text, type, cue, reviewer, note)

    def write(
        self, anchor: str, type: str, text: str, *, cue: str | None = None, reviewer: str = ""
    ) -> Decided:
        """Add a variant that you have written. It is accepted immediately.

        Args:
            anchor: the uid of the anchor.
            type: the variant type, such as 'verbal'.
            text: the text of the variant.
            cue: the hedge cue, if the type has one.
            reviewer: as in `accept`.

        Raises:
            HedgerowError: the anchor or the type is unknown, no reviewer is named, or the text
                cannot be a variant.

        >>> project = example_project()
        >>> anchor = project.anchors()["uid"].iloc[0]
        >>> project.write(anchor, "verbal", "The bridge was never safe.", reviewer="me").status
        'accepted'
        """
        return deciding.write(self._home, anchor, type, text, cue, reviewer)

    def settle(
        self, uid: str, verdict: str, *, reason: str = "", reviewer: str = "", note: str = ""
    ) -> Decided:
        """Settle a conflict with a verdict that overrides the contradictory ones.

        Args:
            uid: the uid of the variant.
            verdict: 'accept' or 'reject'.
            reason: as in `reject`; not allowed with 'accept'.
            reviewer, note: as in `accept`.

        Raises:
            HedgerowError: as in `accept` and `reject`, or the variant is not in conflict.

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
                raise HedgerowError(NO_REASON_TO_ACCEPT)
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
        """Decide on every pending variant that matches a rule. One undo reverts all decisions.

        Args:
            rule: clauses such as 'levenshtein > 60', 'no flags' or 'source = NAME', joined by
                'and'.
            verdict: 'accept' or 'reject'.
            reason: as in `reject`; not allowed with 'accept'.
            note: a remark that is stored with each decision.
            type: only variants of this type.
            reviewer: as in `accept`.
            dry_run: only count the matching variants.

        Raises:
            HedgerowError: as in `accept` and `reject`, or the rule cannot be parsed.

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
        """The variants in conflict, with each person's verdict.

        Args:
            type: one or more variant types, such as 'verbal'; by default all types.
            source: only variants of anchors from this source.
            order: 'oldest' for the oldest conflicts first, or 'most-disputed' for those with the
                highest ``dispute`` first.

        Returns:
            One row per variant: uid, type, source, anchor, text, people (number who decided),
            dispute (number who contradict the most frequent verdict), since (time of the latest
            verdict), and verdicts, a list of dictionaries with reviewer, verdict, reason, note, at,
            seconds (from display to decision) and wording (the new text of an edit).

        Raises:
            HedgerowError: the type, source or order is unknown.

        >>> project = example_project()
        >>> uid = project.variants(status="pending")["uid"].iloc[0]
        >>> decided = project.accept(uid, reviewer="me")
        >>> decided = project.reject(uid, reviewer="you", note="Hardly.")
        >>> found = project.conflicts()
        >>> [(one["reviewer"], one["verdict"]) for one in found["verdicts"].iloc[0]]
        [('me', 'accept'), ('you', 'reject')]
        """
        return deciding.conflicts(self._home, type, source, order)

    def discuss(
        self, uid: str, remark: str = "", *, lift: bool = False, reviewer: str = ""
    ) -> bool:
        """Mark a variant for discussion, or remove the mark. Its status does not change.

        Args:
            uid: the uid of the variant.
            remark: what you want to discuss.
            lift: remove the mark, even if another reviewer set it.
            reviewer: as in `accept`.

        Returns:
            Whether the variant is now marked.

        Raises:
            HedgerowError: as in `accept`, the variant is already marked, or it has no mark to
                remove.

        >>> project = example_project()
        >>> uid = project.variants()["uid"].iloc[0]
        >>> project.discuss(uid, "Is this a hedge?", reviewer="me")
        True
        >>> list(project.marked()["remark"])
        ['Is this a hedge?']
        >>> project.discuss(uid, lift=True, reviewer="you")
        False
        """
        return deciding.discuss(self._home, uid, remark, lift=lift, reviewer=reviewer)

    def marked(self, *, type: str | tuple[str, ...] = (), source: str = "") -> pd.DataFrame:
        """The variants marked for discussion, oldest mark first.

        Args:
            type, source: as in `conflicts`.

        Returns:
            One row per mark: uid, type, status, anchor, text, reviewer, remark, marked_at.

        Raises:
            HedgerowError: the type or source is unknown.

        >>> len(example_project().marked())
        0
        """
        return deciding.marked(self._home, type, source)

    def note(self, uid: str, text: str, *, reviewer: str = "") -> int:
        """Add a note to a variant. Its status does not change.

        Args:
            uid: the uid of the variant.
            text: the note.
            reviewer: as in `accept`.

        Returns:
            The number of notes that the variant now has.

        Raises:
            HedgerowError: as in `accept`, or the note is empty.

        >>> project = example_project()
        >>> project.note(project.variants()["uid"].iloc[0], "As in the south.", reviewer="me")
        1
        """
        return deciding.leave_note(self._home, uid, text, reviewer)

    def undo(self, *, reviewer: str = "") -> Undone:
        """Undo a reviewer's last action: a decision, a rule, an edit, a note or a mark.

        Args:
            reviewer: as in `accept`.

        Raises:
            HedgerowError: no reviewer has this name.

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
        """Inter-annotator agreement on the variants that several people have decided on.

        Verdicts are binary: to accept a variant is one category, to reject or edit it is the other.

        Args:
            by: group by 'type', 'pair' (of people), 'cue' or 'source'; by default one row for all
                variants.
            independent: count only verdicts that people gave without knowing anyone else's.
            source: only variants of anchors from this source.

        Returns:
            One row per group, largest first: number of variants and verdicts, share of accepting
            verdicts, share of pairs of verdicts that agree, Krippendorff's alpha, and Cohen's kappa
            for two people, each with a 95% interval.

        Raises:
            HedgerowError: the grouping or source is unknown.

        >>> project = example_project()
        >>> for uid in project.variants(type="verbal")["uid"]:
        ...     for name in ("Ada", "Ben"):
        ...         decided = project.accept(uid, reviewer=name)
        >>> project.agreement(by="type")[["type", "variants", "agreement"]]
             type  variants  agreement
        0  verbal         1        1.0
        """
        import pandas as pd

        from hedgerow import agreement

        group = agreement.by_name(by)
        with reading(self._home.engine) as session:
            found = agreement.read_agreement(session, independent=independent, source=source)
            rows = list(agreement.rows(session, found.counted, group))
        table = pd.DataFrame(rows, columns=agreement.columns(group))
        return table.astype(dict.fromkeys(agreement.SHARES, float))

    def shared_verdicts(self, *, independent: bool = True, source: str = "") -> pd.DataFrame:
        """All verdicts on the variants that `agreement` counts, with the anchor and the variant.

        Args:
            independent, source: as in `agreement`.

        Returns:
            One row per verdict, with the reviewer, the reason, and whether it is independent.

        Raises:
            HedgerowError: the source is unknown.

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
        from hedgerow.agreement import read_agreement

        with reading(self._home.engine) as session:
            found = read_agreement(session, independent=independent, source=source)
            rows = list(table(records(session, ids_of(found.counted))))
        return pd.DataFrame(rows, columns=list(COLUMNS))


def _verdict(name: str) -> Verdict:
    found = {"accept": Verdict.ACCEPT, "reject": Verdict.REJECT}.get(name)
    if found is None:
        raise HedgerowError(f"Expected accept or reject, found {name!r}.")
    return found
