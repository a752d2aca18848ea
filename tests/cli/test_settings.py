"""hedgerow settings: show for people and for scripts, and change."""

from pathlib import Path

from sqlalchemy import func, select
from sqlmodel import col

from curation.project.opening import ACTIVE_ENCODER, GOLD_RATE, THRESHOLD, open_project
from db.engine import reading
from db.models import Status, Variant
from db.settings import load_settings
from tests.cli.support.commands import ask, complaint, ended, show

STARTER = "counts.starter-llm"


def pending() -> int:
    engine = open_project(load_settings())
    with reading(engine) as session:
        query = select(func.count()).where(col(Variant.status) == Status.PENDING)
        count = session.execute(query).scalar_one()
    engine.dispose()
    return count


def test_everything_is_shown_with_and_without_show(loaded_home: Path) -> None:
    found = ask("settings", "show")
    again = ask("settings")
    assert all(found[part] == again[part] for part in ("project", "machine", "versions"))
    assert found["project"][THRESHOLD] == 60
    assert found["project"]["model_reviewers"] == [
        {"name": "starter-llm", "counts": True, "decisions": 8742},
        {"name": "starter-llm-2", "counts": True, "decisions": 1205},
    ]
    assert found["database"]["address"] == f"sqlite:///{loaded_home}/hedgerow.db"
    assert found["database"]["rows"]["anchors"] == 1369
    assert found["machine"]["HEDGEROW_OPENAI_API_KEY"] == "not set"
    text = show("settings")
    assert "HEDGEROW_DATABASE_URL" in text and "11,537 variants" in text


def test_one_row_is_counted_in_the_singular(loaded_home: Path) -> None:
    rows = ask("settings")["database"]["rows"]
    assert rows["runs"] == 1
    text = " ".join(show("settings").split())
    assert ", 1 run." in text and "1 runs" not in text


def test_a_threshold_is_changed_with_what_follows(loaded_home: Path) -> None:
    done = ask("settings", "set", THRESHOLD, "40")
    assert (done["changed"], done["variants"]) == (True, 11_537)
    assert ask("settings")["project"] == {
        **ask("settings")["project"],
        THRESHOLD: 40,
        "variants_to_reorder": 0,
    }
    assert ask("settings", "set", THRESHOLD, "40") == {"setting": THRESHOLD, "changed": False}
    assert show("settings", "set", THRESHOLD, "40").strip() == f"{THRESHOLD} is already 40."
    assert show("settings", "set", GOLD_RATE, "20").strip() == f"{GOLD_RATE} is now 20."


def test_a_model_is_switched_off_and_on(loaded_home: Path) -> None:
    before = pending()
    assert ask("settings", "set", STARTER, "off")["changed"]
    assert pending() == before + 8742 - 299  # its edits still replace their originals
    assert not ask("settings", "set", STARTER, "off")["changed"]
    ask("settings", "set", STARTER, "on")
    assert pending() == before


def test_a_folder_is_kept_by_its_full_path(loaded_home: Path) -> None:
    (loaded_home / "model").mkdir()
    (loaded_home / "model" / "model.safetensors").write_bytes(b"")
    ask("settings", "set", ACTIVE_ENCODER, "./model")
    assert ask("settings")["project"][ACTIVE_ENCODER] == str(loaded_home / "model")


def test_impossible_settings_are_refused(loaded_home: Path) -> None:
    before = ask("settings")
    assert "found 'many'" in complaint("settings", "set", THRESHOLD, "many")
    assert "found '-3'" in complaint("settings", "set", "--", THRESHOLD, "-3")
    code, answer = ended("settings", "set", THRESHOLD, "-3")
    assert code == 2 and "put '--' before the arguments" in answer["error"]
    assert "1 to 10,000" in complaint("settings", "set", THRESHOLD, "0")
    assert "no model folder" in complaint("settings", "set", ACTIVE_ENCODER, "/no/such/model")
    assert "cannot be reached" in complaint("settings", "set", ACTIVE_ENCODER, "nope/none")
    assert "'on' or 'off'" in complaint("settings", "set", STARTER, "perhaps")
    assert "no model reviewer 'Ada'" in complaint("settings", "set", "counts.Ada", "off")
    assert "found 'colour'" in complaint("settings", "set", "colour", "blue")
    assert ask("settings")["project"] == before["project"]
