"""Team, Assignment: the assignment, people's progress, and quotas."""

from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from curation.review import actions
from curation.review.assignment.plan import Plan, current_plan
from curation.review.assignment.quotas import PersonQuota, all_quotas, set_quota
from db.engine import reading, writing
from tests.pages.conftest import OpenPage
from tests.support.factories import add_family, person


def opened(open_page: OpenPage) -> AppTest:
    app = open_page("team")
    app.session_state["show"] = "Assignment"
    return app.run()


def texts(app: AppTest) -> str:
    return "\n".join(one.value for one in app.text)


def test_an_assignment_is_made_and_shown(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        family = add_family(session)
        ada, bert = person(session, "Ada"), person(session, "Bert *bold*")
        actions.accept(session, actions.shown(family["verbal"]), reviewer_id=ada)
        actions.accept(session, actions.shown(family["word"]), reviewer_id=ada)
        session.refresh(family["word"])
        actions.accept(session, actions.shown(family["word"]), reviewer_id=bert)
    app = opened(open_page)
    assert not app.exception
    assert app.text[0].value == "One person decides on each variant."
    assert "have several people decide" in " ".join(one.value for one in app.caption)
    app.number_input(key="assign-share").set_value(100.0)
    app.button(key="assign-save").click().run()
    with reading(with_source) as session:
        assert current_plan(session) == Plan(2, 1.0)
    assert app.text[0].value == "2 people decide on each variant."
    message = (
        "7 variants need verdicts from 2 people each. 1 is finished or settled, and 11 verdicts "
        "are missing."
    )
    assert app.text[1].value.startswith(message)
    table = app.dataframe[0].value.set_index("Type")
    assert list(table.loc["Verbal negation"]) == [0, 1, 0]
    assert list(table.loc["Hedge: single word"]) == [0, 0, 1]
    app.number_input(key="assign-share").set_value(0.0)
    app.button(key="assign-save").click().run()
    with reading(with_source) as session:
        assert not current_plan(session)


def test_quotas_are_set_and_removed(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        family = add_family(session)
        ada, bert = person(session, "ada@example.org"), person(session, "Bert")
        actions.accept(session, actions.shown(family["verbal"]), reviewer_id=ada)
        set_quota(session, bert, 5, type_id="verbal")
    app = opened(open_page)
    table = app.dataframe[0].value
    assert list(table["Reviewer"]) == ["ada@example.org", "Bert", "Bert"]
    assert app.selectbox(key="quota-person").options == ["ada@example.org", "Bert"]
    assert list(table["Decided"]) == [1, 0, 0]
    app.selectbox(key="quota-person").set_value(ada)
    app.number_input(key="quota-variants").set_value(20)
    app.button(key="quota-save").click().run()
    with reading(with_source) as session:
        assert PersonQuota(ada, "ada@example.org", "", 20) in all_quotas(session)
    assert list(app.dataframe[0].value["Left"].fillna(-1)) == [19, -1, 5]
    app.button(key="quota-remove").click().run()
    app.button(key="quota-remove").click().run()
    assert "no quota for all types" in texts(app)
    with reading(with_source) as session:
        assert all_quotas(session) == [PersonQuota(bert, "Bert", "verbal", 5)]


def test_numbers_out_of_range_are_refused_next_to_their_fields(
    with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        add_family(session)
        person(session, "Ada")
    app = opened(open_page)
    app.number_input(key="assign-share").set_value(150.0)
    app.button(key="assign-save").click().run()
    assert "found 1.5 (150%)" in texts(app)
    app.number_input(key="quota-variants").set_value(-3)
    app.button(key="quota-save").click().run()
    assert "found -3" in texts(app)
    with reading(with_source) as session:
        assert not current_plan(session) and all_quotas(session) == []


def test_without_reviewers_it_says_where_they_come_from(
    with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        add_family(session)
    app = opened(open_page)
    assert "Nobody has reviewed here yet." in " ".join(one.value for one in app.text)
