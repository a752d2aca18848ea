"""Encoders from other packages: what is accepted, and what is refused."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

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
from tests.training.conftest import tiny_encoder as tiny_encoder

CODE = """
import numpy as np

from hedgerow.plug_ins import EncoderLoader


class Mine(EncoderLoader):
    def load(self, name, *, device):
        BODY

    def version(self, name):
        return name + '2'
"""

Plug = Callable[..., None]


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Plug:
    """Installs a loader 'mine' whose method has this body."""

    def made(body: str, *, name: str = "mine") -> None:
        folder = tmp_path / f"site{len(list(tmp_path.iterdir()))}"
        code = CODE.replace("BODY", body.replace("\n", "\n        "))
        install(monkeypatch, folder, "hedgerow.encoders", code, **{name: "Mine"})

    return made


@pytest.mark.slow
def test_a_function_embeds_many_texts_as_an_encoder_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install_example(monkeypatch, tmp_path / "site")
    model = load_encoder("letters:aeiou")
    texts = [f"Sentence number {n}, {'long' * (n % 7)}." for n in range(1200)]
    direct = [[1 + text.lower().count(letter) for letter in "aeiou"] for text in texts]
    rows = encode_distinct(model, texts, unit_length=False)
    np.testing.assert_array_equal(rows, np.array(direct, dtype=np.float32))
    assert pair_cosines(model, [("A tree.", "A TREE.")])[0] == pytest.approx(1.0)
    assert model.get_embedding_dimension() == 5


def test_a_model_of_sentence_transformers_is_taken_unchanged(
    plug: Plug, tiny_encoder: Path
) -> None:
    from sentence_transformers import SentenceTransformer

    plug(
        "from sentence_transformers import SentenceTransformer\n"
        f"return SentenceTransformer({str(tiny_encoder)!r}, device='cpu')"
    )
    assert isinstance(load_encoder("mine:any"), SentenceTransformer)
    ours, its = (load_encoder(name) for name in ("mine", str(tiny_encoder)))
    texts = ["One.", "Two."]
    np.testing.assert_allclose(encode_distinct(ours, texts), encode_distinct(its, texts), rtol=1e-5)


def test_it_is_known_by_its_name_and_version(plug: Plug) -> None:
    plug("return None")
    assert fingerprint("mine:a") == fingerprint("mine:a") != fingerprint("mine:b")
    assert len(fingerprint("mine")) == 64
    assert (resolve_encoder("mine:a"), local_folder("mine:a")) == ("mine:a", None)
    with pytest.raises(HedgerowError, match="not trained"):
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "fact"),
    [
        ("return 5", "Expected a function or a SentenceTransformer "),
        ("raise OSError('no disk')", "(OSError: no disk)"),
        ("return lambda texts: texts", "Expected numbers "),
        ("return lambda texts: [1.0]", "shape (1, 1)"),
        ("return lambda texts: 1 / 0", "(ZeroDivisionError"),
        ("return lambda texts: np.ones((len(texts), len(texts[0])))", "shape (2, 11)"),
    ],
)
def test_a_faulty_one_is_named_in_one_sentence(plug: Plug, body: str, fact: str) -> None:
    plug(body)
    with pytest.raises(HedgerowError) as refusal:
        encode_distinct(load_encoder("mine"), ["One.", "Two."])
    message = str(refusal.value)
    assert fact in message and "'mine'" in message and "\n" not in message


def test_one_that_cannot_be_imported_is_refused_before_it_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, tmp_path / "bad", "hedgerow.encoders", "import nothing_such", bad="Bad")
    with pytest.raises(HedgerowError, match="'bad' of the package 'bad'"):
        check_encoder("bad:any")
