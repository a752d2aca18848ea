"""The database's counts of measures, outcomes and cues equal counts over all rows."""

import itertools
import math
import random
from collections import Counter, defaultdict, namedtuple
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.corpora.corpus import CORPORA
from curation.diagnostics.acceptance import (
    Dimension,
    Outcomes,
    ReasonCount,
    outcomes,
    reject_reasons,
)
from curation.diagnostics.cue_use import (
    Diversity,
    ListUse,
    cue_counts,
    cues_of,
    diversity,
    evenly,
    list_use,
    negators,
    new_negators,
)
from curation.diagnostics.distributions import (
    COSINE_BINS,
    EVERYTHING,
    STATUSES,
    Scope,
    by_type,
    cosine_counts,
    data_version,
    flag_counts,
    flags_by_type,
    levenshtein_counts,
    over,
    pair_counts,
    totals,
)
from curation.diagnostics.measures import Flag
from curation.diagnostics.variant_table import First, FoundVariants, VariantFilter, find, rows
from curation.editing.anchors import correct_anchor, retire_anchor
from curation.encoders.registered import register_encoder
from curation.overview.project_settings import change_threshold
from curation.project.settings import ACTIVE_ENCODER, get_setting
from curation.review import deciding
from curation.taxonomy.cues import HEDGE_CUES
from db.engine import reading, writing
from db.models import Anchor, Diagnostic, Reviewer, Status, Variant, VariantCosine
from db.runs import create_run
from tests.curation.support.deciding import accept, reject
from tests.support.databases import Fill, both_databases
from tests.support.factories import add_anchor, add_family, add_variant, model, person

SCOPES = [
    EVERYTHING,
    Scope(("verbal", "word")),
    Scope(status=Status.PENDING),
    Scope(("phrase",), Status.ACCEPTED),
    Scope(("no_such_type",)),
]
EDGES = (-1.0, -0.98, -0.5, 0.0, 0.02, 0.3, 0.5, 0.98, 0.999, 1.0, 1.0000001, -1.0000001)


FIELDS = "id source_id type_id status retired cue genre origin is_edit levenshtein cosine flags"


class Measured(namedtuple("Measured", FIELDS)):
    """A variant as stored in the database."""

    @property
    def flag_bits(self) -> int | None:
        """The flags as stored; None for a variant that was not measured."""
        return None if self.levenshtein is None else int(self.flags)

    @property
    def bin(self) -> int | None:
        """The bin of the variant's cosine; None if it has none."""
        if self.cosine is None:
            return None
        return min(max(math.floor((self.cosine + 1) * COSINE_BINS / 2), 0), COSINE_BINS - 1)

    def is_in(self, scope: Scope) -> bool:
        wanted = STATUSES if scope.status is None else (scope.status,)
        of_type = not scope.types or self.type_id in scope.types
        return not self.retired and self.status in wanted and of_type


def made_up(session: Session) -> None:
    """Variants of every type with random statuses and measures. A few lack one or the other."""
    draw = random.Random(1)
    encoder = register_encoder(session, name=get_setting(session, ACTIVE_ENCODER), hash_="f" * 64)
    other = register_encoder(session, name="another", hash_="e" * 64)
    before: Variant | None = None
    for number in range(12):
        source = "test" if number % 3 else "Another source"
        family = add_family(session, f"The pier number {number} is safe.", source=source)
        for variant in family.values():
            variant.status = draw.choice(list(Status))
            variant.retired = draw.random() < 0.1
            variant.cue = variant.cue and draw.choice(["probably", "Maybe", "in my view", ""])
            variant.provider, variant.model = draw.choice([("a", "m"), ("b", "m")])
            variant.hardness, variant.suspicion = draw.random(), draw.random()
            variant.parent_id = before.id if before and draw.random() < 0.2 else None
            before = variant
            key = {"variant_id": variant.id}
            distance, flags = draw.randrange(90), draw.randrange(64)
            measured = Diagnostic(**key, levenshtein=distance, flags=flags)
            measured.length_ratio = measured.content_kept = 1.0
            cosine = draw.choice([*EDGES, draw.uniform(-1, 1)])
            found = [measured, VariantCosine(**key, encoder_id=encoder.id, cosine=cosine)]
            session.add_all(one for one in found if draw.random() < 0.9)
            session.add(VariantCosine(**key, encoder_id=other.id, cosine=0.123))
    session.flush()
    for anchor in session.execute(select(Anchor)).scalars():
        anchor.genre = draw.choice(["news", "legal", ""])


@pytest.fixture
def filled(engine: Engine, fill: Fill) -> Iterator[Session]:
    """A small project with made-up measures."""
    fill(engine, made_up)
    with reading(engine) as session:
        yield session


def everything(session: Session) -> list[Measured]:
    """All variants, by id."""
    found = session.execute(
        select(Variant, Anchor, Diagnostic, VariantCosine.cosine)
        .join(Anchor, col(Anchor.id) == Variant.anchor_id)
        .outerjoin(Diagnostic, col(Diagnostic.variant_id) == Variant.id)
        .outerjoin(
            VariantCosine,
            (col(VariantCosine.variant_id) == Variant.id) & (col(VariantCosine.encoder_id) == 1),
        )
        .order_by(col(Variant.id))
    )
    return [
        Measured(
            *(v.id, a.source_id, v.type_id, v.status, v.retired, v.cue, a.genre),
            *((v.provider, v.model), v.parent_id is not None),
            *(d and d.levenshtein, cosine, Flag(d.flags if d else 0)),
        )
        for v, a, d, cosine in found
    ]


def counted(
    rows: list[Measured], scope: Scope, value: Callable[[Measured], int | None]
) -> dict[str, dict[int, int]]:
    found: dict[str, Counter[int]] = {}
    for row in rows:
        if row.is_in(scope) and (key := value(row)) is not None:
            found.setdefault(row.type_id, Counter())[key] += 1
    return {type_id: dict(counts) for type_id, counts in found.items()}


MEASURES = (
    (levenshtein_counts, lambda row: row.levenshtein),
    (cosine_counts, lambda row: row.bin),
    (flag_counts, lambda row: row.flag_bits),
)


@both_databases
def test_each_measure_is_counted_by_type_and_status(filled: Session) -> None:
    rows = everything(filled)
    for count, value in MEASURES:
        found = count(filled)
        assert len({(row.type_id, row.status, row.value) for row in found}) == len(found)
        for scope in SCOPES:
            assert by_type(found, scope) == counted(rows, scope, value)
    pairs = pair_counts(filled)
    measured = [r for r in rows if r.is_in(EVERYTHING) and None not in (r.levenshtein, r.cosine)]
    expected = Counter((row.type_id, row.status, row.levenshtein, row.bin) for row in measured)
    assert {tuple(pair[:4]): pair.number for pair in pairs} == expected
    assert len(pairs) == len(expected)


@both_databases
@pytest.mark.parametrize("source_id", [1, 2])
def test_each_measure_is_counted_of_one_source(filled: Session, source_id: int) -> None:
    rows = [row for row in everything(filled) if row.source_id == source_id]
    assert 0 < len(rows) < len(everything(filled))
    for count, value in MEASURES:
        assert by_type(count(filled, source_id), EVERYTHING) == counted(rows, EVERYTHING, value)
    rows = [row for row in rows if row.is_in(EVERYTHING)]
    pairs = sum(pair.number for pair in pair_counts(filled, source_id))
    assert pairs == sum(None not in (row.levenshtein, row.cosine) for row in rows)
    scope = select(col(Variant.id)).where(Scope(source_id=source_id).condition())
    assert set(filled.execute(scope).scalars()) == {row.id for row in rows}


def test_a_threshold_cuts_larger_distances(filled: Session) -> None:
    rows, distances = everything(filled), levenshtein_counts(filled)
    for scope, threshold in itertools.product(SCOPES, range(0, 95, 7)):
        large = [row for row in rows if row.is_in(scope) and (row.levenshtein or 0) > threshold]
        assert over(distances, scope, threshold) == dict(Counter(row.type_id for row in large))


def test_flags_are_counted_one_by_one_against_the_measured(filled: Session) -> None:
    counts = flag_counts(filled)
    found = flags_by_type(counts, EVERYTHING, type_ids=["word", "verbal", "none_of_these"])
    assert [row.type_id for row in found] == ["word"] * len(Flag) + ["verbal"] * len(Flag)
    rows = [r for r in everything(filled) if r.is_in(EVERYTHING) and r.levenshtein is not None]
    for row in found:
        measured = [r for r in rows if r.type_id == row.type_id]
        assert row.of == len(measured) == totals(counts, EVERYTHING)[row.type_id]
        assert row.number == sum(row.flag in r.flags for r in measured)
        assert row.share == row.number / row.of


CHANGES: dict[str, Callable[[Session, Variant], object]] = {
    "a decision": lambda session, variant: deciding.accept(
        session, deciding.shown(variant), reviewer_id=person(session)
    ),
    "a new variant": lambda session, variant: add_variant(
        session, add_anchor(session, "The pier is open."), text="The pier is not open."
    ),
    "a run that goes on": lambda session, variant: setattr(
        create_run(session, kind="diagnose", parameters={}), "step", 7
    ),
    "another threshold": lambda session, variant: change_threshold(session, 40),
    "a retired anchor": lambda session, variant: retire_anchor(session, variant.anchor_id),
    "a corrected anchor": lambda session, variant: correct_anchor(
        session, 1, "The bridge is quite safe.", reviewer_id=person(session), expected_revision=1
    ),
}


def test_the_version_changes_with_the_data(engine: Engine) -> None:
    with writing(engine) as session:
        add_family(session)
        person(session)
    seen = set()
    for change in (lambda *_: None, *CHANGES.values()):
        with writing(engine) as session:
            change(session, session.get_one(Variant, 1))
        for _ in range(2):
            with reading(engine) as session:
                seen.add(data_version(session))
    assert len(seen) == 1 + len(CHANGES)


NAMES = {
    Status.ACCEPTED: "accepted",
    Status.SUPERSEDED: "edited",
    Status.REJECTED: "rejected",
    Status.CONFLICT: "conflict",
    Status.PENDING: "pending",
}
GROUPS: dict[Dimension, Callable[[Measured], tuple[object, ...]]] = {
    Dimension.TYPE: lambda row: (row.type_id,),
    Dimension.CUE: lambda row: (row.cue,) if row.cue else (),
    Dimension.GENRE: lambda row: (row.genre,),
    Dimension.ORIGIN: lambda row: (*row.origin, None),
    Dimension.PROMPT: lambda row: (),  # none of these was written with a prompt
}


@both_databases
def test_outcomes_of_variants_that_are_not_edits(filled: Session) -> None:
    rows = [r for r in everything(filled) if not r.retired and not r.is_edit]
    for types, source_id in (((), None), (("word", "affixal"), None), ((), 2)):
        for dimension in Dimension:
            expected: dict[tuple[object, ...], Counter[str]] = defaultdict(Counter)
            for row in rows:
                wanted = (not types or row.type_id in types) and source_id in (None, row.source_id)
                if wanted and (group := GROUPS[dimension](row)):
                    expected[group][NAMES[row.status]] += 1
            found = outcomes(filled, dimension, types=types, source_id=source_id)
            assert found == {key: Outcomes(**counts) for key, counts in expected.items()}


def test_acceptance_is_of_the_decided() -> None:
    some, none = Outcomes(accepted=6, edited=2, rejected=1, conflict=1, pending=90), Outcomes()
    assert (some.decided, some.acceptance, some.as_written) == (10, 0.8, 0.6)
    assert none.acceptance is none.as_written is None


def reasons(session: Session, dimension: Dimension = Dimension.TYPE) -> list[ReasonCount]:
    return sorted(reject_reasons(session, dimension))


@both_databases
def test_a_reason_counts_until_its_verdict_is_replaced(session: Session) -> None:
    family, ada, ben = add_family(session), person(session), person(session, "Ben")
    for type_id, who, reason in (
        ("verbal", ada, "wrong_type"),
        ("verbal", ben, "wrong_type"),  # the same reason twice: one variant
        ("word", ada, "wrong_scope"),
        ("word", ben, "not_a_hedge"),  # two reasons for one variant
        ("lexical", ada, "wrong_scope"),
        ("lexical", ada, "meaning_changed"),  # a change of mind
        ("phrase", ada, "ungrammatical"),
        ("affixal", ada, "ungrammatical"),
    ):
        reject(session, family[type_id], who, reason)
    deciding.undo(session, reviewer_id=ada)
    accept(session, family["phrase"], ben)  # a conflict is not a rejection
    assert reasons(session) == [
        (("lexical",), "meaning_changed", 1),
        (("verbal",), "wrong_type", 1),
        (("word",), "not_a_hedge", 1),
        (("word",), "wrong_scope", 1),
    ]
    of_cues = [(("probably",), "not_a_hedge", 1), (("probably",), "wrong_scope", 1)]
    assert reasons(session, Dimension.CUE) == of_cues
    assert sum(row.number for row in reasons(session, Dimension.GENRE)) == 4
    assert {row.group for row in reasons(session, Dimension.ORIGIN)} == {("", "", None)}
    of_verbal = reject_reasons(session, Dimension.TYPE, types=("verbal",))
    assert of_verbal == [(("verbal",), "wrong_type", 1)]


def test_a_verdict_that_no_longer_counts_gives_no_reason(session: Session) -> None:
    def found() -> list[str]:
        return [row.reason for row in reasons(session)]

    verbal, ada, judge = add_family(session)["verbal"], person(session), model(session)
    reject(session, verbal, ada, "wrong_type")
    reject(session, verbal, ada, "wrong_scope")
    assert found() == ["wrong_scope"]
    deciding.undo(session, reviewer_id=ada)  # of the change of mind
    assert found() == ["wrong_type"]
    session.refresh(verbal)
    verbal.since_version = verbal.version  # as by a correction of the anchor
    session.flush()
    reject(session, verbal, judge, "ungrammatical")
    assert found() == ["ungrammatical"]
    session.get_one(Reviewer, judge).counts = False
    session.flush()
    reject(session, verbal, person(session, "Ben"), "wrong_scope")
    assert found() == ["wrong_scope"]


def test_entropy_of_known_distributions() -> None:
    assert diversity(dict.fromkeys("abcdefgh", 5)).entropy == 3
    assert diversity(dict.fromkeys("abcdefgh", 5)).evenness == 1
    skewed = diversity({"a": 3, "b": 1})
    assert math.isclose(skewed.entropy, 0.811278, abs_tol=1e-6)
    assert skewed.evenness == skewed.entropy
    assert diversity({"not": 12}) == Diversity(12, 1, 0.0, None)
    assert diversity({}).total == diversity({}).entropy == 0


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 10**6), max_size=12))
def test_entropy_keeps_its_bounds(counts: dict[str, int]) -> None:
    found = diversity(counts)
    assert found.distinct == sum(number > 0 for number in counts.values())
    assert 0 <= found.entropy <= math.log2(max(1, found.distinct)) + 1e-9
    assert found.evenness is None or 0 <= found.evenness <= 1


@both_databases
def test_cues_are_counted_by_type_and_scope(filled: Session) -> None:
    rows, counts = everything(filled), cue_counts(filled)
    scopes = (EVERYTHING, Scope(status=Status.PENDING), Scope(("phrase",)))
    for scope, type_id in itertools.product(scopes, ("word", "phrase", "verbal")):
        some = [row for row in rows if row.type_id == type_id and row.cue and row.is_in(scope)]
        assert cues_of(counts, scope, type_id) == Counter(row.cue for row in some)


def test_a_cue_is_used_in_its_spelling_or_is_another() -> None:
    for listed in HEDGE_CUES.values():
        assert list_use(listed, listed) == ListUse(listed, (), ())
    assert [len(listed) for listed in HEDGE_CUES.values()] == [134, 45]
    assert list_use(["not"], None) is None
    use = list_use(["Couldn't", "whether", "by all accounts"], HEDGE_CUES["word"])
    # One that the paper misprints is used in its own spelling unless that is listed.
    assert use is not None and set(use.used) == {"couldnt", "whether"}
    assert {"wether", "probably"} <= set(use.unused) and len(use.unused) == 132
    assert use.others == ("by all accounts",)


@pytest.mark.parametrize(
    ("anchor", "text", "found"),
    [
        ("The bridge is safe.", "The bridge isn't safe.", {"not"}),
        ("The bridge is safe.", "The bridge is unsafe.", {"un-"}),
        ("The pain ended.", "The pain was endless.", {"-less"}),
        ("No pier is open.", "No pier is closed.", set()),
        ("All came.", "No one came, and nothing helped.", {"no one", "nothing"}),
        # A hyphen makes no other affix.
        ("The area is for smoking.", "The area is for nonsmoking.", {"non-"}),
        ("The area is for smoking.", "The area is for non-smoking.", {"non-"}),
        ("The talk is suited.", "The talk is ill-suited.", {"ill-"}),
        ("It was a match.", "It was a goalless match.", {"-less"}),
        ("It was a match.", "It was a goal-less match.", {"-less"}),
        ("It is a drink.", "It is a sugar-free drink.", {"-free"}),
    ],
)
def test_new_negators_are_those_the_anchor_has_not(anchor: str, text: str, found: set[str]) -> None:
    assert new_negators(anchor, text) == found


@pytest.mark.slow
@both_databases
def test_negators_of_all_variants_or_of_an_even_sample(session: Session) -> None:
    for number in range(40):
        add_family(session, f"Bridge {number} is safe.")
    negator = {"verbal": "not", "absolute": "no", "affixal": "un-", "lexical": ""}
    types = list(negator)
    found = negators(session, EVERYTHING, type_ids=types, sample=500)
    assert (found.of, found.sampled) == (160, dict.fromkeys(types, 40))
    assert found.by_type == {type_id: {name: 40} for type_id, name in negator.items()}
    few = negators(session, EVERYTHING, type_ids=types, sample=80)
    assert few.of == 160 and 60 <= few.sampled.total() <= 100
    assert few == negators(session, EVERYTHING, type_ids=types, sample=80)
    # A sample is stable, nested, and even over the types.
    chosen = [
        set(session.execute(select(col(Variant.id)).where(evenly(share))).scalars())
        for share in (0.0, 0.1, 0.5, 1.0)
    ]
    assert (len(chosen[0]), len(chosen[-1])) == (0, 280) and 24 <= len(chosen[1]) <= 32
    assert chosen[1] < chosen[2] < chosen[3]
    half = select(col(Variant.type_id), func.count()).where(evenly(0.5)).group_by(Variant.type_id)
    assert all(abs(number - 20) <= 5 for _, number in session.execute(half))


WANTED = [
    VariantFilter(),
    VariantFilter(levenshtein=(10, 40)),
    VariantFilter(cosine_bins=(25, 74)),
    VariantFilter(levenshtein=(0, 60), cosine_bins=(50, 99)),
    VariantFilter(cosine_bins=(99, 99)),
    VariantFilter(Scope(("word", "verbal")), levenshtein=(20, 80)),
    VariantFilter(Scope(status=Status.REJECTED), cosine_bins=(0, 98)),
    VariantFilter(flag=Flag.WRONG_SURFACE, first=First.SUSPICIOUS),
    VariantFilter(Scope(("phrase",), Status.PENDING), flag=Flag.UNCHANGED),
    VariantFilter(levenshtein=(91, 99)),
]


def within(bounds: tuple[int, int] | None, value: int | None) -> bool:
    return bounds is None or (value is not None and bounds[0] <= value <= bounds[1])


@both_databases
def test_a_search_finds_exactly_the_matches(filled: Session) -> None:
    for wanted in WANTED:
        expected = [
            row
            for row in everything(filled)
            if row.is_in(wanted.scope)
            and within(wanted.levenshtein, row.levenshtein)
            and within(wanted.cosine_bins, row.bin)
            and (wanted.flag is None or wanted.flag in row.flags)
        ]
        first = {
            row.id: -getattr(filled.get_one(Variant, row.id), wanted.first.value)
            for row in expected
        }
        ids = tuple(sorted(first, key=lambda number: (first[number], number)))
        assert find(filled, wanted, limit=1000) == FoundVariants(len(ids), ids)
        assert find(filled, wanted, limit=3) == FoundVariants(len(ids), ids[:3])


@both_databases
def test_own_anchors_are_found_before_those_of_a_corpus(session: Session) -> None:
    ids = []
    for number, source in enumerate((CORPORA["claims"].source, "test")):
        variant = add_variant(session, add_anchor(session, f"Gate {number} opens.", source=source))
        variant.hardness = 1.0 - number
        ids.append(variant.id)
    assert find(session, VariantFilter(), limit=5) == (2, tuple(reversed(ids)))


def test_rows_come_in_the_order_asked_for(filled: Session) -> None:
    known = {row.id: row for row in everything(filled)}
    found = rows(filled, (5, 3, 999, 1, 4, 2))
    assert [row.id for row in found] == [5, 3, 1, 4, 2]
    for row in found:
        variant, expected = filled.get_one(Variant, row.id), known[row.id]
        assert (row.uid, row.text, row.status) == (variant.uid, variant.text, variant.status)
        assert (row.levenshtein, row.flags) == (expected.levenshtein, expected.flags)
        assert row.cosine == pytest.approx(expected.cosine)
        assert row.anchor == "The pier number 0 is safe."
    assert rows(filled, ()) == []
