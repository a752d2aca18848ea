"""Reviewing a project's variants."""

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
        """Accept a variant as it is.

        Args:
            uid: the variant's.
            reviewer: your name; by default the name that the project was opened with.
            note: a remark, stored with the decision.

        Raises:
            HedgerowError: there is no such variant, or no reviewer name.

        >>> project = example_project()
        >>> uid = project.variants(status="pending")["uid"].iloc[0]
        >>> project.accept(uid, reviewer="me").status
        'accepted'
        """
        return deciding.accept(self._home, uid, reviewer, note)

    def reject(self, uid: str, *, reason: str = "", reviewer: str = "", note: str = "") -> Decided:
        """Reject a variant.

        Args:
            uid: the variant's.
            reason: an id such as 'wrong_type'; by default 'other'.
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
        """Replace a variant with a better text, or correct its type or cue.

        Returns:
            The decision, with the uid of the new, accepted variant as ``child``.

        Raises:
            HedgerowError: as in `accept`, nothing would change, or there is no such type.

        >>> project = example_project()
        >>> uid = project.variants(status="pending")["uid"].iloc[0]
        >>> project.edit(uid, "The bridge isn't safe.", reviewer="me").status
        'superseded'
        """
        return deciding.edit(self._home, uid, text, type, cue, reviewer, note)

    def write(
        self, anchor: str, type: str, text: str, *, cue: str | None = None, reviewer: str = ""
    ) -> Decided:
        """Add your own variant. It is accepted at once.

        Args:
            anchor: the uid of its anchor.
            type: its type, such as 'verbal'.
            cue: its hedge cue, if the type has one.

        Raises:
            HedgerowError: there is no such anchor or type, or the text cannot be a variant.

        >>> project = example_project()
        >>> anchor = project.anchors()["uid"].iloc[0]
        >>> project.write(anchor, "verbal", "The bridge was never safe.", reviewer="me").status
        'accepted'
        """
        return deciding.write(self._home, anchor, type, text, cue, reviewer)

    def settle(
        self, uid: str, verdict: str, *, reason: str = "", reviewer: str = "", note: str = ""
    ) -> Decided:
        """Settle a conflict: this verdict outranks those that contradict each other.

        Args:
            verdict: accept or reject.

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
                raise HedgerowError("A reason requires 'reject'; give a note instead.")
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
        """Decide on every pending variant that a rule matches. One undo reverses all decisions.

        Args:
            rule: clauses such as 'levenshtein > 60', 'no flags' or 'source = NAME', joined by
                'and'.
            verdict: accept or reject.
            type: only variants of this type.
            dry_run: only count the variants.

        Raises:
            HedgerowError: the rule cannot be parsed, or as in `accept` and `reject`.

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
            type: one or several variant types, such as 'verbal'; by default all.
            source: only anchors of this source.
            order: 'oldest', or 'most-disputed': first those on which the most people contradict the
                most frequent verdict.

        Returns:
            One row per variant: uid, type, source, anchor, text, people (number who decided),
            dispute (number who contradict the most frequent verdict), since (time of the latest
            verdict), and verdicts, a list of dictionaries with reviewer, verdict, reason, note, at,
            seconds (from showing to decision) and wording (of an edit).

        Raises:
            HedgerowError: there is no such type, source or order.

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
        """Mark a variant “discuss”, which decides nothing, or remove the mark.

        Args:
            remark: what you want to discuss.
            lift: remove the mark, whoever made it.
            reviewer: as in `accept`.

        Returns:
            Whether it is now marked.

        Raises:
            HedgerowError: as in `accept`, it is already marked, or there is no mark to remove.

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
        """The variants marked “discuss”, oldest mark first.

        Args:
            type, source: as in `conflicts`.

        Returns:
            One row per mark: uid, type, status, anchor, text, reviewer, remark, marked_at.

        Raises:
            HedgerowError: there is no such type or source.

        >>> len(example_project().marked())
        0
        """
        return adjudicating.marked(self._home, type, source)

    def note(self, uid: str, text: str, *, reviewer: str = "") -> int:
        """Add a note to a variant. A note decides nothing.

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
        """Undo the last thing a reviewer did: a decision (also by a rule), an edit, note or mark.

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
        """People's agreement on the variants that several of them have decided on.

        There are two verdicts: accepting the variant, and rejecting or editing it.

        Args:
            by: 'type', 'pair' (of people), 'cue' or 'source'; by default no groups.
            independent: count only verdicts given without knowing anybody else's.
            source: only anchors of this source.

        Returns:
            One row per group, largest first: number of variants and verdicts, share of accepting
            verdicts, share of pairs of verdicts that agree, Krippendorff's alpha, and Cohen's kappa
            for two people, each with a 95% interval.

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
        """All verdicts on the variants that `agreement` counts, with the anchor and the variant.

        Returns:
            One row per verdict, with the reviewer, the reason, and whether it is independent.

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
