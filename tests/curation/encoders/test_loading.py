"""Encoders: which folders, checkpoints and models of the hub are loaded, and how they are known."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from curation.encoders import model_folders
from curation.encoders.checkpoint_files import (
    ADAPTER_CONFIG,
    ADAPTER_WEIGHTS,
    DOWN,
    PREFIX,
    UP,
    require_encoder,
    what_else,
)
from curation.encoders.embeddings import encode_distinct, pair_cosines
from curation.encoders.loading import check_encoder, fingerprint, load_encoder
from curation.encoders.model_folders import (
    DEFAULT_ENCODER,
    DEFAULT_PACKAGE,
    TRAINED_ENCODER,
    encoder_folder,
    local_folder,
    resolve_encoder,
)
from db.errors import HedgerowError
from tests.support.checkpoints import ENCODERS, checkpoint, packaged
from tests.support.plug_in_packages import Plug, install, install_example, installer
from tests.training.conftest import tiny_encoder as tiny_encoder

MONOT5 = "castorini/monot5-base-msmarco"


def refusal(name: object) -> str:
    """The one sentence with which an encoder is refused."""
    with pytest.raises(HedgerowError) as refused:
        load_encoder(str(name), device="cpu")
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.fixture
def model_copy(tiny_encoder: Path, tmp_path: Path) -> Path:
    """A copy of a model's folder that a test may damage."""
    return Path(shutil.copytree(tiny_encoder, tmp_path / "copy"))


def test_a_folder_is_loaded_and_known_by_what_decides_the_embeddings(
    model_copy: Path, tiny_encoder: Path
) -> None:
    texts = ["No.", "Global warming is real."]
    copy, original = (load_encoder(str(name), device="cpu") for name in (model_copy, tiny_encoder))
    np.testing.assert_array_equal(encode_distinct(copy, texts), encode_distinct(original, texts))
    known = fingerprint(tiny_encoder)
    (model_copy / "README.md").write_text("another card", encoding="utf-8")
    assert fingerprint(model_copy) == known
    for name in ("model.safetensors", "1_Pooling/config.json", "modules.json", "tokenizer.json"):
        before = (model_copy / name).read_bytes()
        (model_copy / name).write_bytes(before + b"\n")
        assert fingerprint(model_copy) != known, name
        (model_copy / name).write_bytes(before)


def test_weights_other_than_the_known_ones_are_refused_as_the_default(
    model_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_folders, "_default_folder", lambda: model_copy)
    assert "SHA-256" in refusal(DEFAULT_ENCODER)


def test_pickles_and_damaged_weights_are_refused(model_copy: Path) -> None:
    weights, pickle = model_copy / "model.safetensors", model_copy / "pytorch_model.bin"
    (model_copy / "1_Pooling" / "pytorch_model.bin").write_bytes(b"anything")
    assert "pickle" in refusal(model_copy)
    (model_copy / "1_Pooling" / "pytorch_model.bin").unlink()
    weights.rename(pickle)
    assert "safetensors" in refusal(model_copy)
    with pytest.raises(HedgerowError, match="safetensors"):
        fingerprint(model_copy)
    pickle.unlink()
    weights.write_bytes(b"not weights")
    assert str(model_copy) in refusal(model_copy)


def test_code_in_a_model_folder_is_not_run(model_copy: Path) -> None:
    modules, flag = json.loads((model_copy / "modules.json").read_text()), model_copy / "ran"
    modules[0]["type"] = "evil.Transformer"
    (model_copy / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    (model_copy / "evil.py").write_text(f"open({str(flag)!r}, 'w')", encoding="utf-8")
    assert str(model_copy) in refusal(model_copy)
    assert not flag.exists()


@pytest.mark.parametrize(
    ("name", "fact"),
    [
        ("", "empty"),
        ("/no/such/folder", "/no/such/folder"),
        ("./nowhere", "./nowhere"),
        ("owner/never-downloaded", "cannot be reached"),
        ("not a name?", "neither"),
        ("x" * 5000, "neither"),
    ],
)
def test_a_missing_encoder_gives_one_sentence(name: str, fact: str) -> None:
    assert fact in refusal(name)


def test_names_resolve_to_package_folder_or_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / DEFAULT_ENCODER).mkdir()
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    default = resolve_encoder(DEFAULT_ENCODER)
    assert isinstance(default, Path) and DEFAULT_PACKAGE in default.parts
    assert resolve_encoder(str(tmp_path)) == tmp_path
    assert resolve_encoder("all-mpnet-base-v2") == "sentence-transformers/all-mpnet-base-v2"
    assert resolve_encoder("owner/model") == "owner/model"
    with pytest.raises(HedgerowError, match="folder"):
        resolve_encoder(str(tmp_path / "file"))


# -- kinds of checkpoints -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["T5ForConditionalGeneration", "DPRQuestionEncoder"])
def test_a_checkpoint_that_is_not_an_encoder_is_refused(architecture: str, tmp_path: Path) -> None:
    folder = checkpoint(architecture, tmp_path)
    assert f" in {str(folder)!r}, found {architecture}: " in refusal(folder)
    with pytest.raises(HedgerowError, match=architecture):
        check_encoder(str(folder))


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ENCODERS)
def test_a_bare_encoder_is_taken(architecture: str, tmp_path: Path) -> None:
    folder = checkpoint(architecture, tmp_path)
    check_encoder(str(folder))
    assert load_encoder(str(folder), device="cpu").encode(["It is open."]).shape == (1, 16)


@pytest.mark.slow
def test_a_sentence_transformers_folder_is_an_encoder_whatever_its_architecture(
    tmp_path: Path,
) -> None:
    folder = packaged("T5EncoderModel", tmp_path)
    config = json.loads((folder / "config.json").read_text())
    for architecture in ("T5EncoderModel", "Qwen2ForCausalLM"):
        (folder / "config.json").write_text(json.dumps(config | {"architectures": [architecture]}))
        check_encoder(str(folder))
        assert load_encoder(str(folder), device="cpu").encode(["It is open."]).shape == (1, 16)


@pytest.mark.parametrize("kind", ["CrossEncoder", "SparseEncoder", "MultiVectorEncoder"])
def test_another_class_of_sentence_transformers_is_refused(kind: str, tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text("[]")
    (tmp_path / "config_sentence_transformers.json").write_text(json.dumps({"model_type": kind}))
    with pytest.raises(HedgerowError, match=kind):
        require_encoder(tmp_path)


@pytest.mark.parametrize(
    ("config", "refused"),
    [
        ({"architectures": ["BertLMHeadModel"]}, True),
        ({"architectures": ["BertForTokenClassification"]}, True),
        ({"architectures": ["BertForSequenceClassification"]}, True),
        ({"architectures": ["WhisperForAudioClassification"]}, True),
        ({"architectures": ["LlamaForCausalLM"]}, True),
        ({"architectures": ["DPRContextEncoder"]}, True),
        ({"architectures": ["HF_ColBERT"]}, True),
        ({"architectures": ["BartModel"], "is_encoder_decoder": True}, True),
        ({"architectures": ["T5Model"], "is_encoder_decoder": True}, True),
        ({"architectures": ["T5EncoderModel"], "is_encoder_decoder": True}, False),
        ({"architectures": ["LongformerModel"]}, False),
        ({"architectures": ["BertForPreTraining"]}, False),
        ({"architectures": ["XLMWithLMHeadModel"]}, False),
        ({"architectures": "BertModel"}, False),
        ({"architectures": [None]}, False),
        ({}, False),
        (None, False),
    ],
)
def test_the_architecture_in_the_configuration_decides(config: Any, refused: bool) -> None:
    assert bool(what_else(config)) is refused


def test_a_model_of_the_hub_is_looked_up_there_unless_it_cannot_be_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check_encoder(MONOT5)  # loading it will decide
    files = ["config.json", "model.safetensors"]

    def model_info(self: object, name: str, **options: object) -> SimpleNamespace:
        assert name == MONOT5
        siblings = [SimpleNamespace(rfilename=file) for file in files]
        config = {"architectures": ["T5ForConditionalGeneration"]}
        return SimpleNamespace(config=config, siblings=siblings)

    monkeypatch.setattr("huggingface_hub.HfApi.model_info", model_info)
    with pytest.raises(HedgerowError, match="T5ForConditionalGeneration"):
        check_encoder(MONOT5)
    files.append("modules.json")
    check_encoder(MONOT5)


# -- adapters ------------------------------------------------------------------------------------

LAYER = "encoder.layer.0.attention.self.query"
TEXTS = ["No.", "The door is open.", "The door is not open."]


@pytest.fixture
def adapter(tiny_encoder: Path, tmp_path: Path) -> Path:
    """An adapter of rank 2 for one layer of the tiny encoder, with a scale of one half."""
    import torch
    from safetensors.torch import save_file

    folder = tmp_path / "adapter"
    folder.mkdir()
    torch.manual_seed(3)
    names = f"{PREFIX}{LAYER}{DOWN}", f"{PREFIX}{LAYER}{UP}"
    tensors = dict(zip(names, (torch.randn(2, 32), torch.ones(32, 2)), strict=True))
    save_file(tensors, folder / ADAPTER_WEIGHTS)
    config = {"peft_type": "LORA", "r": 2, "lora_alpha": 1, "target_modules": [LAYER]}
    configure(folder, **config, base_model_name_or_path=str(tiny_encoder))
    return folder


def configure(folder: Path, **values: Any) -> None:
    """Change an adapter's configuration."""
    path = folder / ADAPTER_CONFIG
    known = json.loads(path.read_text("utf-8")) if path.exists() else {}
    path.write_text(json.dumps(known | values), encoding="utf-8")


def rename(folder: Path, old: str, new: str) -> None:
    """Change the names of an adapter's weights."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / ADAPTER_WEIGHTS)
    save_file({k.replace(old, new): v for k, v in tensors.items()}, folder / ADAPTER_WEIGHTS)


def test_an_adapter_is_added_to_the_weights_of_its_base(adapter: Path, tiny_encoder: Path) -> None:
    import torch
    from safetensors.torch import load_file

    tensors = load_file(adapter / ADAPTER_WEIGHTS)
    change = tensors[f"{PREFIX}{LAYER}{UP}"] @ tensors[f"{PREFIX}{LAYER}{DOWN}"] / 2
    base = load_encoder(str(tiny_encoder), device="cpu").state_dict()
    merged = load_encoder(str(adapter), device="cpu").state_dict()
    assert merged.keys() == base.keys()
    for name, value in merged.items():
        expected = base[name] + change if LAYER in name and "weight" in name else base[name]
        assert torch.allclose(value, expected, atol=1e-6), name


def test_an_adapters_hash_depends_on_its_files_and_its_base(
    adapter: Path, tiny_encoder: Path, tmp_path: Path
) -> None:
    known = fingerprint(adapter)
    assert known not in ("", fingerprint(tiny_encoder))
    (adapter / "README.md").write_text("a card", encoding="utf-8")
    assert fingerprint(adapter) == known
    configure(adapter, lora_alpha=2)
    assert fingerprint(adapter) != known
    base = shutil.copytree(tiny_encoder, tmp_path / "base")
    configure(adapter, lora_alpha=1, base_model_name_or_path=str(base))
    of_a_copy = fingerprint(adapter)
    (base / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    assert fingerprint(adapter) != of_a_copy


@pytest.mark.parametrize(
    ("values", "fact"),
    [
        ({"use_rslora": True}, "without extensions"),
        ({"rank_pattern": {LAYER: 1}}, "without extensions"),
        ({"peft_type": "IA3"}, "without extensions"),
        ({"r": 0}, "without extensions"),
        ({"base_model_name_or_path": DEFAULT_ENCODER}, "does not fit its base"),
        ({"base_model_name_or_path": TRAINED_ENCODER}, "another adapter"),
        ({"base_model_name_or_path": None}, "base encoder"),
        ({"base_model_name_or_path": "/no/such/folder"}, "/no/such/folder"),
        ((UP, ".lora_magnitude_vector"), "without extensions"),
        (("layer.0", "layer.9"), "does not fit its base"),
        ("damaged", "weights"),
        ("pickle", "safetensors"),
    ],
)
def test_an_adapter_that_cannot_be_merged_is_refused_with_one_sentence(
    adapter: Path, values: Any, fact: str
) -> None:
    weights = adapter / ADAPTER_WEIGHTS
    if isinstance(values, dict):
        configure(adapter, **values)
    elif isinstance(values, tuple):
        rename(adapter, *values)
    elif values == "damaged":
        weights.write_bytes(b"damaged")
    else:
        weights.rename(adapter / "adapter_model.bin")
    with pytest.raises(HedgerowError, match=fact) as caught:
        load_encoder(str(adapter))
    assert "\n" not in str(caught.value)


def test_an_adapter_of_another_model_is_refused_before_it_is_loaded(
    adapter: Path, tmp_path: Path
) -> None:
    check_encoder(str(adapter), must_exist=True)
    (tmp_path / "config.json").write_text('{"architectures": ["LlamaForCausalLM"]}')
    configure(adapter, base_model_name_or_path=str(tmp_path))
    with pytest.raises(HedgerowError, match="LlamaForCausalLM"):
        check_encoder(str(adapter))


@pytest.mark.slow
def test_the_bundled_encoder_moves_a_negation_away_and_keeps_a_hedge() -> None:
    names = DEFAULT_ENCODER, TRAINED_ENCODER
    default, bundled = (load_encoder(name, device="cpu") for name in names)
    assert bundled.get_embedding_dimension() == default.get_embedding_dimension() == 384
    assert bundled.max_seq_length == default.max_seq_length
    assert np.abs(encode_distinct(bundled, TEXTS) - encode_distinct(default, TEXTS)).max() > 0.01
    assert fingerprint(TRAINED_ENCODER) != fingerprint(DEFAULT_ENCODER)
    pairs = [(TEXTS[1], TEXTS[2]), (TEXTS[1], "The door is probably open.")]
    before, after = (pair_cosines(encoder, pairs) for encoder in (default, bundled))
    assert after[0] < after[1] and after[0] - after[1] < before[0] - before[1]


def test_the_bundled_adapter_is_small_and_other_weights_are_not_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(resolve_encoder(TRAINED_ENCODER), tmp_path / "copy")
    weights = folder / ADAPTER_WEIGHTS
    assert weights.stat().st_size <= 5_000_000
    assert not [path for path in folder.iterdir() if path.suffix in (".bin", ".pt", ".py")]
    monkeypatch.setattr(model_folders, "_TRAINED_FOLDER", folder)
    content = weights.read_bytes()
    weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(HedgerowError, match="SHA-256"):
        load_encoder(TRAINED_ENCODER)


# -- encoders of other packages ------------------------------------------------------------------

CODE = """
import numpy as np

from hedgerow.plug_ins import EncoderLoader


class Mine(EncoderLoader):
    def load(self, name, *, device):
        BODY

    def version(self, name):
        return name + '2'
"""


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Plug:
    """Installs a loader 'mine' whose method has this body."""
    return installer(monkeypatch, tmp_path, "hedgerow.encoders", CODE)


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
    plug("return None", **{DEFAULT_ENCODER: "Mine"})
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
    with pytest.raises(HedgerowError) as refused:
        encode_distinct(load_encoder("mine"), ["One.", "Two."])
    message = str(refused.value)
    assert fact in message and "'mine'" in message and "\n" not in message


def test_one_that_cannot_be_imported_is_refused_before_it_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, tmp_path / "bad", "hedgerow.encoders", "import nothing_such", bad="Bad")
    with pytest.raises(HedgerowError, match="'bad' of the package 'bad'"):
        check_encoder("bad:any")
