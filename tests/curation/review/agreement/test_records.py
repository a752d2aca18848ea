"""The variants behind a figure of agreement, and their verdicts as a table."""

import csv
import io
from datetime import UTC, datetime

from sqlalchemy import Engine

from curation.release.export.file_formats import csv_bytes
from curation.review import actions
from curation.review.actions import shown
from curation.review.agreement.overlap import overlap
from curation.review.agreement.records import COLUMNS, ids_of, records, table
from db.engine import reading, writing
from db.models import Verdict
from tests.support.databases import both_databases
from tests.support.factories import ANCHOR, TEXTS, add_family, person

pytestmark = both_databases


def test_a_variant_has_all_verdicts_in_order(engine: Engine) -> None:
    with writing(engine) as session:
        ada, bert = person(session), person(session, "=Bert")
        word = add_family(session)["word"]
        for who, blind in ((bert, False), (ada, True)):
            session.refresh(word)
            card = shown(word, at=datetime.now(UTC), blind=blind)
            actions.reject(
                session, card, reviewer_id=who, reason="not_a_hedge", note="As firm as before."
            )
        session.refresh(word)
        card = shown(word, at=datetime.now(UTC))
        actions.accept(session, card, reviewer_id=ada)
        lonely = add_family(session, "The road is safe.", subject="road")["word"]
        actions.accept(session, shown(lonely), reviewer_id=ada)
    with reading(engine) as session:
        (record,) = records(session, ids_of(overlap(session)))
    assert record[:6] == (word.uid, "word", "probably", "test", ANCHOR, TEXTS["word"])
    rows = [(v.reviewer, v.verdict, v.reason, v.note, v.independent) for v in record.verdicts]
    assert rows == [
        ("=Bert", Verdict.REJECT, "not_a_hedge", "As firm as before.", True),
        ("Ada", Verdict.REJECT, "not_a_hedge", "As firm as before.", True),
        ("Ada", Verdict.ACCEPT, "", "", False),
    ]
    text = csv_bytes(COLUMNS, table([record])).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["reviewer"] for row in rows] == ["'=Bert", "Ada", "Ada"]  # not a formula
    assert [row["independent"] for row in rows] == ["True", "True", "False"]
    assert {row["uid"] for row in rows} == {word.uid}
