"""Encoders from other packages: what is accepted, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from curation.encoders.embeddings import encode_distinct, pair_cosines
from curation.encoders.loading import check_encoder, fingerprint, load_encoder
from curation.encoders.model_folders import (
    DEFAULT_ENCODER,
    encoder_folder,
    local_folder,
    resolve_encoder,
)
from db.errors import HedgerowError
from tests.support.plug_in_packages import install, install_example

CODE = """
import numpy as np

from hedgerow.plug_ins import EncoderLoader


class Mine(EncoderLoader):
    def load(self, name, *, device):
        BODY

    def version(self, name):
        return VERSION
"""

TEXTS = [f"Sentence number {n}, {'long' * (n % 7)}." for n in range(1200)]

Plug = Callable[..., None]


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Plug:
    """Installs a loader 'mine' whose method has this body."""

    def made(body: str, *, version: str = "'1'", name: str = "mine") -> None:
        code = CODE.replace("BODY", body).replace("VERSION", version)
        folder = tmp_path / f"site{len(list(tmp_path.iterdir()))}"
        install(monkeypatch, folder, "hedgerow.encoders", code, **{name: "Mine"})

    return made


def test_a_function_embeds_many_texts_as_an_encoder_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install_example(monkeypatch, tmp_path / "site")
    model = load_encoder("letters:aeiou")
    rows = encode_distinct(model, TEXTS, unit_length=False)
    direct = [[1 + text.lower().count(letter) for letter in "aeiou"] for text in TEXTS]
    np.testing.assert_array_equal(rows, np.array(direct, dtype=np.float32))
    assert pair_cosines(model, [("A tree.", "A TREE.")])[0] == pytest.approx(1.0)
    assert model.get_embedding_dimension() == 5


def test_a_model_of_sentence_transformers_is_taken_unchanged(plug: Plug) -> None:
    folder = str(resolve_encoder(DEFAULT_ENCODER))
    plug(
        "from sentence_transformers import SentenceTransformer\n"
        f"        return SentenceTransformer({folder!r}, device='cpu')"
    )
    assert isinstance(load_encoder("mine:any"), SentenceTransformer)
    texts = ["One.", "Two."]
    ours = encode_distinct(load_encoder("mine"), texts)
    np.testing.assert_allclose(ours, encode_distinct(load_encoder(folder), texts), rtol=1e-5)


def test_it_is_known_by_its_name_and_version(plug: Plug) -> None:
    plug("return None", version="name + '2'")
    assert fingerprint("mine:a") == fingerprint("mine:a") != fingerprint("mine:b")
    assert len(fingerprint("mine")) == 64
    assert (resolve_encoder("mine:a"), local_folder("mine:a")) == ("mine:a", None)
    with pytest.raises(HedgerowError, match="can be measured but not trained"):
        encoder_folder("mine:a")


def test_a_folder_or_a_built_in_encoder_is_never_taken_over(
    plug: Plug, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plug("return None", name=DEFAULT_ENCODER)
    assert isinstance(resolve_encoder(DEFAULT_ENCODER), Path)
    plug("return None")
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    assert resolve_encoder("mine") == Path("mine")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return 5", "Expected a function or a SentenceTransformer from the plug-in 'mine'"),
        ("raise OSError('no disk')", "The plug-in 'mine' failed (OSError: no disk)"),
        ("return lambda texts: texts", "Expected numbers from the plug-in 'mine'"),
        ("return lambda texts: [1.0]", "Expected embeddings of shape (1, 1) from"),
        ("return lambda texts: 1 / 0", "The plug-in 'mine' failed (ZeroDivisionError"),
    ],
)
def test_a_faulty_one_is_named_in_one_sentence(plug: Plug, body: str, message: str) -> None:
    plug(body)
    with pytest.raises(HedgerowError) as refusal:
        load_encoder("mine")
    assert message in str(refusal.value) and "\n" not in str(refusal.value)


def test_embeddings_of_another_size_are_refused(plug: Plug) -> None:
    plug("return lambda texts: np.ones((len(texts), len(texts[0])))")
    with pytest.raises(HedgerowError, match=r"Expected embeddings of shape \(2, 11\)"):
        encode_distinct(load_encoder("mine"), ["One.", "Two."])


def test_one_that_cannot_be_imported_is_refused_before_it_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, tmp_path / "bad", "hedgerow.encoders", "import nothing_such", bad="Bad")
    with pytest.raises(HedgerowError, match="The plug-in 'bad' of the package 'bad' cannot be"):
        check_encoder("bad:any")
