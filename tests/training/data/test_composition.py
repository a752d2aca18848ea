"""The data that a recipe leaves, counted in the database, equals the data that training finds."""

from sqlalchemy import Engine
from sqlmodel import Session

from curation.release.freezing import create_release
from curation.taxonomy.nli_types import CONTRADICTION, ENTAILMENT, ensure_types
from db.engine import reading, writing
from db.models import Split
from tests.curation.support.families import add_family, add_plain_family, add_variant, decide, model
from tests.support.databases import both_databases
from training.data.composition import composition, composition_now
from training.data.families import training_families
from training.data.sampling import count_triples
from training.recipe.plan import plan
from training.recipe.schema import Recipe

pytestmark = both_databases

RECIPES = (
    Recipe(),
    Recipe(data="negation"),
    Recipe(data="hedging"),
    Recipe(data="negation", types={ENTAILMENT: 0}),
    Recipe(data="hedging", types={CONTRADICTION: 0}),
    Recipe(types={"verbal": 0, "word": 0}),
    Recipe(types={"word": 0.5}),
    Recipe(sources={"Others": 0}),
    Recipe(sources={"Others": 0, "A corpus": 0}),
)

WRITERS = ((Recipe(), ("nobody",)), (Recipe(data="negation"), ("openai",)))


def originals(session: Session) -> None:
    """Families with and without originals, paraphrases, or one side."""
    for number in range(3):
        add_plain_family(session, number, split=Split.TRAIN)
    ensure_types(session, [ENTAILMENT, CONTRADICTION])
    anchor = add_family(
        session,
        "The cat is big.",
        {
            "word": ["It may be big."],
            "verbal": ["It is not."],
            "absolute": ["It never is."],
            ENTAILMENT: ["There is a cat."],
            CONTRADICTION: ["It is a dog."],
            "negated_antonym": ["It is not small."],
        },
        split=Split.TRAIN,
    )
    of_rules = add_variant(session, anchor, "phrase", "I think it is big.")
    of_rules.provider = "rules"
    decide(session, of_rules, model(session))
    add_family(
        session,
        "The dog is old.",
        {
            "word": ["It may be old."],
            "negated_antonym": ["It is not young."],
            "lexical": ["It is young."],
        },
        split=Split.TRAIN,
    )
    add_family(session, "Only hedged.", {"phrase": ["Perhaps hedged."]}, split=Split.TRAIN)
    add_plain_family(session, 9, split=Split.TEST)
    add_plain_family(session, 10, split=Split.TRAIN, source="Others")


def test_the_database_counts_what_a_training_finds(engine: Engine) -> None:
    with writing(engine) as session:
        originals(session)
        release = create_release(session).release
    with reading(engine) as session:
        accepted, released = composition_now(session), composition(session, release.number)
        everything = plan(session, release.number)
        assert released.letters["Others"] == everything.amounts["Others"].letters > 10
        for recipe, providers in (*((recipe, ()) for recipe in RECIPES), *WRITERS):
            found = training_families(
                session, release.id, split=Split.TRAIN, recipe=recipe, providers=providers
            )
            left = released.left_by(recipe, providers)
            expected = {
                source: (
                    sum(map(count_triples, families)),
                    len(families),
                    sum(recipe.types.get(m.type_id, 1.0) for family in families for m in family),
                )
                for source in ("A corpus", "Others")
                if (families := [one for one in found if one[0].source == source])
            }
            assert {source: of[:3] for source, of in left.amounts.items()} == expected, recipe
            assert accepted.left_by(recipe, providers) == left._replace(release=None), recipe
