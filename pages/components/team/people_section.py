"""People: each person's verdicts, speed and agreement with known correct verdicts. For leads."""

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from curation.decisions.coefficients import FEWEST
from curation.review.agreement.overlap import overlap
from curation.review.people_statistics import (
    COLUMNS,
    PersonFigures,
    Share,
    overlapping,
    person_figures,
    table,
)
from db.models import TeamRole
from pages.components.shared import links, tables
from pages.components.shared.shell import count_cache, current_user, open_project

_HELP = {
    "Verdicts": "Current verdicts on single variants. Settlements, decisions by rule and undone "
    "decisions are left out.",
    "Median seconds": "The time between showing a card and the decision. Times over five minutes "
    "count as breaks and are left out.",
    "Accepted": "The share of verdicts that are acceptances, with its exact 95% interval.",
    "Gold": "How many verdicts on gold items match the correct verdict. An edit counts as a "
    "rejection.",
    "Settled": "How many verdicts match the settlement that somebody else made later.",
    "Practice": "Right answers in the last practice round.",
    "Shared": "Variants that somebody else has also decided on.",
}


def draw() -> None:
    """Draw the section."""
    if lead("see each person's figures") is None:
        return
    counts = count_cache.CachedCounts()
    if counts.empty:
        links.no_variants()
        return
    found, shared = counts.get(person_figures), counts.get(overlap)
    if found is None or shared is None:
        st.text("Counting. In a large project this takes a few seconds.")
    elif not found:
        links.nothing("Nobody has decided on a variant yet.")
    else:
        _people(found, overlapping(shared))
    counts.follow()


def _people(found: Sequence[PersonFigures], shared: Mapping[int, int]) -> None:
    st.dataframe(
        [_row(one, shared.get(one.reviewer_id, 0)) for one in found],
        hide_index=True,
        key="people-figures",
        height="content",
        column_config={"Name": st.column_config.Column(pinned=True)}
        | {
            name: (
                st.column_config.NumberColumn(help=text, format="localized")
                if name in ("Verdicts", "Shared")
                else st.column_config.Column(help=text)
            )
            for name, text in _HELP.items()
        },
    )
    st.caption(
        f"Brackets show 95% intervals for {FEWEST} or more verdicts. If intervals overlap, a "
        "difference between two people may be due to chance. It may also be due to the cards that "
        "each person got; gold items are the same for everybody."
    )
    st.header("Accepted, by type", anchor=False)
    st.dataframe(_by_type(found), key="people-types", height="content")
    tables.csv_button(
        lambda: (COLUMNS, table(found, shared)),
        "hedgerow-people",
        key="people-csv",
        help="All figures, one row per person and type.",
    )


def _row(one: PersonFigures, shared: int) -> dict[str, str | int | None]:
    practice = f"{one.practice.right} of {one.practice.answered}"
    return {
        "Name": one.name,
        "Verdicts": one.decisions,
        "Median seconds": "–" if one.seconds is None else f"{one.seconds:.1f}",
        "Accepted": one.acceptance.percentage(),
        "Gold": one.gold.in_words(),
        "Settled": one.adjudicated.in_words(),
        "Practice": practice if one.practice_round else "–",
        "Shared": shared,
    }


def _by_type(found: Sequence[PersonFigures]) -> pd.DataFrame:
    """The acceptance rates, with a row per type and a column per person."""
    names = open_project.type_names()
    types = [key for key in names if any(key in one.accepted for one in found)]
    return pd.DataFrame(
        {one.name: [one.accepted.get(key, Share()).in_words() for key in types] for one in found},
        index=pd.Index([names[key] for key in types], name="Type"),
    )


# -- Sections of the Team page for leads only -----------------------------------------------------


def lead(do: str) -> int | None:
    """The id of the lead at this page; for others None, with a message about why.

    Args:
        do: what leads can do here, to complete "Only leads can …".
    """
    me = current_user.reviewer_id()
    if me is None:
        st.write(f"Only leads can {do}. Enter your name.")
        current_user.name_form("Your name", key="signin-lead", button="Continue")
        return None
    return me if current_user.may(TeamRole.LEAD) or current_user.only_leads(do) else None
