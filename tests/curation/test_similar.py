"""Similar variants with the real encoder: computed by a run, stored in a file, looked up, and
always up to date."""

from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine
from sqlmodel import col, select

from curation import similar
from curation.review import deciding
from curation.similar import FOLDER, SimilarVariants, StoredEmbeddings, similar_variants
from db.engine import reading, writing
from db.execution import execute
from db.models import Variant
from db.runs import create_run
from db.settings import load_settings
from tests.support.databases import both_databases
from tests.support.factories import add_anchor, add_variant, person

ASKED = "The bridge isn't safe."
TEXTS = ["The bridge is unsafe.", "The bridges are not safe.", "My uncle never baked bread."]
NEW = "The bridge isn't very safe."


def compute(engine: Engine) -> int:
    with writing(engine) as session:
        run_id = create_run(session, kind=similar.KIND, parameters={}).id
    work = {similar.KIND: similar.work}
    return int(execute(engine, load_settings(), run_id, work)["embeddings"])


def look_up(engine: Engine, *, limit: int = 5) -> tuple[SimilarVariants, list[str]]:
    """What is found, and its texts."""
    with reading(engine) as session:
        asked = session.execute(select(Variant).where(col(Variant.text) == ASKED)).scalar_one()
        found = similar_variants(session, load_settings(), asked, limit=limit)
    return found, [one.hit.text for one in found.found or ()]


@both_databases
@pytest.mark.slow
def test_other_anchors_variants_are_found_the_most_similar_first(engine: Engine) -> None:
    with writing(engine) as session:
        anchor = add_anchor(session)
        add_variant(session, anchor, text=ASKED)
        add_variant(session, anchor, type_id="absolute", text="The bridge is not at all safe.")
        for number, text in enumerate(TEXTS):
            add_variant(session, add_anchor(session, f"Claim {number} is true."), text=text)
    assert look_up(engine) == (SimilarVariants(None, 5), [])
    assert compute(engine) == 5
    found, texts = look_up(engine)
    assert (found.missing, set(texts[:2]), texts[2:]) == (0, set(TEXTS[:2]), TEXTS[2:])
    cosines = [one.cosine for one in found.found or ()]
    assert cosines == sorted(cosines, reverse=True)
    assert cosines[1] > 0.8 > 0.4 > cosines[2]
    assert look_up(engine, limit=1)[1] == texts[:1]
    # A newer variant is missing until a run adds it alone, and a replaced one is not found.
    with writing(engine) as session:
        add_variant(session, add_anchor(session, "It is new."), text=NEW)
        old = session.execute(select(Variant).where(col(Variant.text) == TEXTS[0])).scalar_one()
        edited, ada = deciding.shown(old), person(session)
        deciding.edit(session, edited, reviewer_id=ada, text="The bridge is dangerous.")
    found, texts = look_up(engine)
    assert (found.missing, set(texts)) == (2, set(TEXTS[1:]))
    assert compute(engine) == 2
    found, texts = look_up(engine)
    assert (found.missing, set(texts)) == (0, {*TEXTS[1:], NEW, "The bridge is dangerous."})


# -- embeddings in a file ----------------------------------------------------------------------


def uid(number: int) -> str:
    return f"{number:016x}"


def unit_rows(*rows: tuple[float, ...]) -> np.ndarray:
    array = np.array(rows, np.float32)
    return array / np.linalg.norm(array, axis=1, keepdims=True)


@pytest.fixture
def stored(tmp_path: Path) -> StoredEmbeddings:
    return StoredEmbeddings(tmp_path, "f" * 64)


def test_the_nearest_come_first_and_without_the_one_asked_about(stored: StoredEmbeddings) -> None:
    assert (len(stored), stored.uids(), stored.nearest(uid(1), limit=5)) == (0, set(), None)
    stored.append([uid(1), uid(2)], unit_rows((1, 0, 0), (0, 1, 0)))
    stored.append([uid(3)], unit_rows((1, 1, 0)))
    near = stored.nearest(uid(1), limit=5)
    assert near is not None
    assert list(near) == [uid(3), uid(2)]
    assert list(near.values()) == pytest.approx([0.5**0.5, 0.0], abs=1e-3)
    assert stored.nearest(uid(1), limit=1) == {uid(3): near[uid(3)]}
    assert stored.nearest(uid(4), limit=5) is None


def test_half_a_record_is_skipped_and_replaced(stored: StoredEmbeddings, tmp_path: Path) -> None:
    stored.append([uid(1)], unit_rows((1, 0)))
    (file,) = (tmp_path / FOLDER).iterdir()
    file.write_bytes(file.read_bytes() + b"half")
    assert stored.uids() == {uid(1)}
    stored.append([uid(2)], unit_rows((0, 1)))
    assert stored.uids() == {uid(1), uid(2)}
    assert list(stored.nearest(uid(2), limit=5) or ()) == [uid(1)]
    assert len(StoredEmbeddings(tmp_path, "0" * 64)) == 0  # another encoder's file


def test_more_records_than_are_converted_at_once(stored: StoredEmbeddings) -> None:
    angles = np.linspace(0, np.pi / 2, 20_000)
    rows = np.column_stack([np.cos(angles), np.sin(angles)]).astype(np.float32)
    stored.append([uid(number) for number in range(len(rows))], rows)
    near = stored.nearest(uid(0), limit=len(rows))
    assert near is not None and len(near) == len(rows) - 1
    assert list(near)[-1] in {uid(number) for number in range(19_990, 20_000)}  # half precision
