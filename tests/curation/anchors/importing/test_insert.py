"""Rows of a file become anchors: the fate of each row, and all or nothing."""

from collections import Counter
from datetime import UTC

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.changes import correct_anchor, retire_anchor
from curation.anchors.checks import Reason, has_several_sentences
from curation.anchors.importing import anchor_rows
from curation.anchors.importing.formats import read_file, read_pasted
from curation.anchors.importing.insert import (
    About,
    Added,
    add_anchors,
    check_source,
    earlier_import,
)
from curation.anchors.importing.preview import Fate, FileRow, Preview, preview
from curation.anchors.importing.sample import allocate, length_band, lengths, stratified_sample
from curation.content_uids import anchor_uid, canonical_uid, near_key, split_of, words_of
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Anchor, AnchorRevision, Run, RunState, Source
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_anchor, person

pytestmark = both_databases


def looked(engine: Engine, text: str, **more: str) -> Preview:
    """A preview of pasted sentences, one per line."""
    with reading(engine) as session:
        return preview(session, read_pasted(text), column="text", **more)


def page_text(row: FileRow) -> tuple[Fate, list[Reason]]:
    return row.fate, [finding.reason for finding in row.findings]


def add(engine: Engine, text: str, *, name: str = "mine", **more: object) -> Added:
    with writing(engine) as session:
        shown = preview(session, read_pasted(text), column="text")
        return add_anchors(session, shown, shown.chosen(), about=About(source=name), **more)  # type: ignore[arg-type]


def stored(session: Session) -> list[tuple[str, str]]:
    query = select(col(Anchor.uid), col(AnchorRevision.text)).join(
        AnchorRevision, col(AnchorRevision.anchor_id) == col(Anchor.id)
    )
    return sorted((uid, text) for uid, text in session.execute(query))


@one_database
class TestPreview:
    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("The ferry isn't safe.", Reason.NEGATED),
            ("The ferry is probably safe.", Reason.HEDGED),
            ("They won, but this was disputed.", Reason.DISPUTED),
            ("Is the ferry safe?", Reason.QUESTION),
            ("Ferries", Reason.NO_SENTENCE),
            ("12 : 34 – 56", Reason.NO_SENTENCE),
            ("The ferry is safe. The bridge is open.", Reason.SEVERAL_SENTENCES),
            ("The ferry is very" + " very" * 110 + " safe.", Reason.LONG),
        ],
    )
    def test_suspicious_rows_are_reported_with_their_reason(
        self, engine: Engine, text: str, reason: Reason
    ) -> None:
        (row,) = looked(engine, text).rows
        assert page_text(row) == (Fate.SUSPICIOUS, [reason])

    def test_the_impossible_is_reported_and_never_chosen(self, engine: Engine) -> None:
        data = b'{"text":"\\u0007 bell"}\n{"text":" "}\n{"text":null}\n{"text":"\\ud800"}\n'
        data += b'{"text":"' + b"a b" * 700 + b'"}\n{"text":"All is well."}\n'
        with reading(engine) as session:
            shown = preview(session, read_file(data, name="a.jsonl"), column="text")
        assert [row.findings[0].reason for row in shown.of(Fate.IMPOSSIBLE)] == [
            Reason.NOT_TEXT,
            Reason.EMPTY,
            Reason.EMPTY,
            Reason.NOT_TEXT,
            Reason.TOO_LONG,
        ]
        assert [row.line for row in shown.chosen(include_suspicious=True)] == [6]
        for row in shown.rows:
            row.text.encode()  # can be displayed

    def test_repeats_name_the_line_also_in_another_normal_form(self, engine: Engine) -> None:
        shown = looked(
            engine, "The café is open.\n\nThe  cafe\u0301 is\u00a0open.\u200b\nIt is open."
        )
        assert [page_text(row)[0] for row in shown.rows] == [Fate.NEW, Fate.DUPLICATE, Fate.NEW]
        assert shown.rows[1].line == 3
        assert shown.rows[1].findings[0].sentence == "It repeats line 1."

    def test_near_equals_are_a_suspicion_not_a_duplicate(self, engine: Engine) -> None:
        with writing(engine) as session:
            add_anchor(session, "The well-known bridge is safe.")
        shown = looked(engine, "the well known bridge is “safe”\nIt's open.\nIT’S OPEN\nIts open.")
        assert [page_text(row)[0] for row in shown.rows] == [
            Fate.SUSPICIOUS,
            Fate.NEW,
            Fate.SUSPICIOUS,
            Fate.NEW,
        ]
        sentences = [row.findings[0].sentence for row in shown.of(Fate.SUSPICIOUS)]
        assert "the anchor “The well-known bridge is safe.”" in sentences[0]
        assert "from line 2." in sentences[1]

    def test_every_wording_that_an_anchor_had_is_known(self, engine: Engine) -> None:
        with writing(engine) as session:
            ada = person(session)
            first = add_anchor(session, "The bridge is safe.")
            correct_anchor(
                session,
                first.id,
                "The bridge is closed.",
                reviewer_id=ada,
                expected_revision=1,
            )
            second = add_anchor(session, "The ferry is safe.")
            retire_anchor(session, second.id)
        shown = looked(engine, "The bridge is safe.\nThe bridge is closed.\nThe ferry is safe.")
        assert [page_text(row) for row in shown.rows] == [
            (Fate.DUPLICATE, [Reason.EARLIER_REVISION]),
            (Fate.DUPLICATE, [Reason.KNOWN]),
            (Fate.DUPLICATE, [Reason.RETIRED]),
        ]

    def test_checks_that_know_english_are_left_out_for_others(self, engine: Engine) -> None:
        text = "No es la verdad.\n今日は良い天気です"
        assert [row.fate for row in looked(engine, text, language="en-GB").rows] == [
            Fate.SUSPICIOUS,
            Fate.SUSPICIOUS,
        ]
        assert [row.fate for row in looked(engine, text, language="es").rows] == [
            Fate.NEW,
            Fate.NEW,
        ]

    def test_counts_add_up_to_the_rows(self, engine: Engine) -> None:
        shown = looked(
            engine, "One is here.\nOne is here.\nIs it?\nIt isn't. It never was.\nTwo is here."
        )
        assert sum(shown.fates.values()) == len(shown.rows) == 5
        assert shown.reasons == {
            Reason.REPEATED: 1,
            Reason.QUESTION: 1,
            Reason.NEGATED: 1,
            Reason.SEVERAL_SENTENCES: 1,
        }

    def test_a_genre_that_is_too_long_is_reported_with_its_line(self, engine: Engine) -> None:
        table = read_file(b"text,genre\nHi there,a\nYou too," + b"g" * 81 + b"\n", name="a.csv")
        with reading(engine) as session, pytest.raises(HedgerowError, match="on line 3 of a.csv"):
            preview(session, table, column="text", genre_column="genre")


@pytest.mark.parametrize(
    ("text", "several"),
    [
        ("Dr. Smith met J. R. Tolkien at 5 p.m. Paris time.", False),
        ("It costs 3.50 euros.", False),
        ("He said: “Go!” and left.", False),
        ("It rained … and then it stopped.", False),
        ("He left. She stayed.", True),
        ("He left! “She stayed.”", True),
        ("Did he? She did.", True),
    ],
)
def test_the_end_of_a_sentence_is_distinguished_from_other_full_stops(
    text: str, several: bool
) -> None:
    assert has_several_sentences(text) is several


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_words_and_keys_ignore_case_and_punctuation(text: str) -> None:
    words = words_of(text)
    assert all(word and not word.isspace() for word in words)
    if text.isascii():
        assert words == words_of(text + "\N{SNOWMAN}")  # both ways of finding them agree
        assert near_key(text, words) == near_key(text.upper() + "!", words_of(text.upper() + "!"))
        shown = text + "…"
        assert near_key(shown, words_of(shown)) == near_key(text, words)


class TestAdding:
    def test_anchors_get_uid_split_source_and_author(self, engine: Engine) -> None:
        data = "text,genre\nThe café is open.,news\nThe bridge is safe.,\n".encode()
        with writing(engine) as session:
            ada = person(session)
            shown = preview(
                session, read_file(data, name="a.csv"), column="text", genre_column="genre"
            )
            about = About(source="mine", licence="CC0", genre="prose", language="en-GB")
            added = add_anchors(
                session,
                shown,
                shown.chosen(),
                about=about,
                file="a.csv",
                author_id=ada,
                parameters={"column": "text"},
            )
        assert (added.added, added.source) == (2, "mine")
        with reading(engine) as session:
            anchors = session.execute(select(Anchor).order_by(col(Anchor.id))).scalars().all()
            assert [a.uid for a in anchors] == [
                anchor_uid("The café is open."),
                anchor_uid("The bridge is safe."),
            ]
            assert [a.genre for a in anchors] == ["news", "prose"]
            for anchor in anchors:
                wording = session.get_one(AnchorRevision, (anchor.id, 1))
                assert (anchor.revision, anchor.language) == (1, "en-GB")
                assert anchor.split == split_of(anchor.uid)
                assert wording.text_uid == anchor.uid == canonical_uid(wording.text)
                assert wording.author_id == ada
                assert anchor.created_at.tzinfo is UTC and anchor.created_at == wording.created_at
            source = session.get_one(Source, anchors[0].source_id)
            assert (source.licence, source.content_hash) == ("CC0", shown.content_hash)
            run = session.get_one(Run, added.run_id)
            assert (run.state, run.result["added"], run.requested_by) == (RunState.DONE, 2, ada)
            assert run.inputs == {"file": "a.csv", "sha256": shown.content_hash}
        with writing(engine) as session:  # ids continue in the right place
            assert add_anchor_by_orm(session).id not in {a.id for a in anchors}

    def test_the_same_file_twice_adds_nothing_and_is_reported(self, engine: Engine) -> None:
        text = "The bridge is safe.\nThe ferry is late."
        assert add(engine, text).added == 2
        with reading(engine) as session:
            before = earlier_import(session, read_pasted(text).content_hash)
            assert before is not None and (before.source, before.added) == ("mine", 2)
            assert earlier_import(session, "0" * 64) is None
        assert add(engine, text, name="other") == Added(0)
        with reading(engine) as session:
            assert len(stored(session)) == 2
            assert session.execute(select(func.count()).select_from(Run)).scalar_one() == 1
            assert session.execute(select(func.count()).select_from(Source)).scalar_one() == 1

    def test_a_failure_in_the_middle_leaves_nothing(
        self, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(anchor_rows, "_WORDING", "INSERT INTO nowhere VALUES ({})")
        with pytest.raises(Exception, match="nowhere"):
            add(engine, "The bridge is safe.")
        with reading(engine) as session:
            for table in (Anchor, AnchorRevision, Source, Run):
                assert session.execute(select(func.count()).select_from(table)).scalar_one() == 0

    def test_anchors_added_since_the_preview_stop_it(self, engine: Engine) -> None:
        shown = looked(engine, "The bridge is safe.\nThe ferry is late.")
        add(engine, "The ferry is late.")
        with pytest.raises(HedgerowError, match="Nothing was changed"), writing(engine) as session:
            add_anchors(session, shown, shown.chosen(), about=About(source="mine"))
        with reading(engine) as session:
            assert len(stored(session)) == 1

    def test_a_row_that_is_there_after_all_stops_it(self, engine: Engine) -> None:
        shown = looked(engine, "The bridge is safe.")
        rows = [*shown.chosen(), *shown.chosen()]
        with pytest.raises(HedgerowError, match="Nothing was changed"), writing(engine) as session:
            add_anchors(session, shown, rows, about=About(source="mine"))
        with reading(engine) as session:
            assert stored(session) == []

    @one_database
    def test_a_source_keeps_its_licence(self, engine: Engine) -> None:
        with writing(engine) as session:
            session.add(Source(name="mine", licence="CC BY 4.0"))
        with reading(engine) as session:
            for licence in (None, "CC BY 4.0"):
                source = check_source(session, About(source=" mine ", licence=licence))
                assert source is not None and source.licence == "CC BY 4.0"
            assert check_source(session, About(source="other", licence="X")) is None
            with pytest.raises(HedgerowError, match="'CC BY 4.0', found 'CC0'"):
                check_source(session, About(source="mine", licence="CC0"))

    @pytest.mark.parametrize(
        ("values", "expected"),
        [
            ({"source": " "}, "found none"),
            ({"source": "s" * 201}, "source of at most 200"),
            ({"source": "s", "licence": "l" * 201}, "licence of at most 200"),
            ({"source": "s", "genre": "g" * 81}, "genre of at most 80"),
            ({"source": "s", "language": "English please"}, "a language tag such as"),
            ({"source": "s", "language": ""}, "a language tag such as"),
            ({"source": "s", "language": "en" + "-abcdefgh" * 4}, "a language tag such as"),
        ],
    )
    def test_the_attributes_of_a_file_are_checked(
        self, values: dict[str, str], expected: str
    ) -> None:
        with pytest.raises(HedgerowError, match=expected):
            About(**values)


def add_anchor_by_orm(session: Session) -> Anchor:
    """An anchor whose id is assigned by the database."""
    source = session.execute(select(Source)).scalars().first()
    assert source is not None
    anchor = Anchor(uid="f" * 16, source_id=source.id, split=split_of("f"))  # type: ignore[arg-type]
    session.add(anchor)
    session.flush()
    return anchor


_SIZES = st.dictionaries(st.integers(0, 9), st.integers(0, 40), min_size=1, max_size=7)


class TestSampling:
    @settings(max_examples=200, deadline=None)
    @given(_SIZES, st.floats(0, 1))
    def test_shares_add_up_and_are_within_one_of_the_proportion(
        self, sizes: dict[int, int], part: float
    ) -> None:
        everything = sum(sizes.values())
        total = round(part * everything)
        shares = allocate(sizes, total)
        assert sum(shares.values()) == total
        for key, size in sizes.items():
            assert 0 <= shares[key] <= size
            assert everything == 0 or abs(shares[key] - size * total / everything) < 1

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.integers(1, 45), min_size=1, max_size=60, unique=True), st.data())
    def test_a_sample_has_exactly_its_size_and_depends_on_the_seed_alone(
        self, word_counts: list[int], data: st.DataObject
    ) -> None:
        texts = [" ".join(["word"] * count) for count in word_counts]
        size = data.draw(st.integers(0, len(texts)))

        def draw(items: list[str], seed: int) -> list[str]:
            return stratified_sample(items, size, stratum=length_band, uid=str, seed=seed)

        sample = draw(texts, 1)
        assert len(sample) == len(set(sample)) == size
        assert sample == [text for text in texts if text in set(sample)]  # in this order
        assert set(draw(texts[::-1], 1)) == set(sample)
        bands, sampled = Counter(map(length_band, texts)), Counter(map(length_band, sample))
        assert all(abs(sampled[b] - n * size / len(texts)) < 1 for b, n in bands.items())

    def test_another_seed_draws_another_sample(self) -> None:
        texts = [f"Sentence number {n} is here." for n in range(200)]
        first, second = (
            stratified_sample(texts, 50, stratum=length_band, uid=str, seed=seed) for seed in (0, 1)
        )
        assert set(first) != set(second)

    @one_database
    def test_a_sample_cannot_be_larger_than_the_rows(self, engine: Engine) -> None:
        shown = looked(engine, "The bridge is safe.\nIs it?")
        with pytest.raises(HedgerowError, match="at most 1 anchors"):
            shown.chosen(sample=2)
        assert len(shown.chosen(sample=2, include_suspicious=True)) == 2

    @one_database
    def test_genres_keep_their_proportions(self, engine: Engine) -> None:
        lines = [f"The thing number {n} is here.,{'news' if n % 4 else 'law'}" for n in range(100)]
        table = read_file(("text,genre\n" + "\n".join(lines)).encode(), name="a.csv")
        with reading(engine) as session:
            shown = preview(session, table, column="text", genre_column="genre")
        assert Counter(row.genre for row in shown.chosen(sample=20)) == {"news": 15, "law": 5}


def test_lengths_are_reported_as_in_the_paper() -> None:
    texts = [" ".join(["word"] * count) for count in (1, 14, 15, 30, 31)]
    found = lengths(texts)
    assert (found.n, found.short, found.middle, found.long, found.median) == (5, 2, 2, 1, 15)
    assert found.share(found.short) == 0.4
    empty = lengths([])
    assert (empty.n, empty.share(empty.short)) == (0, 0.0)
