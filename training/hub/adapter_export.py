"""Saving the changes of a training run as a small adapter in peft's format."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from safetensors import SafetensorError
from sqlalchemy.orm import Session

from curation.encoders.checkpoint_files import ADAPTER_CONFIG, ADAPTER_WEIGHTS, is_adapter
from curation.encoders.model_folders import DEFAULT_ENCODER, resolve_encoder
from curation.formatting import markdown_table
from curation.partial_files import clear_partials, new_partial
from curation.release.export.card_sections import CITATION
from curation.tables.json_values import JsonError, read_json
from db.errors import HedgerowError
from db.models import Encoder, Run
from db.named_files import read_text, resolved
from db.runs import get_run
from db.settings import Settings
from training.encoder_run import tradeoff_save
from training.encoder_run.weight_changes import Ends, LowRank, alike, ends_of, load_both, low_rank
from training.hub.push_run import model_run
from training.model_card import CARD, card_of, header, opening, public_base
from training.model_card_parts import ADAPTER, INTENDED, LIMITS, NO_FIGURE
from training.models.known import ModelLocation
from training.recipe.reading import values_of

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


LARGEST = 5_000_000
"""Maximum size of the weights file in bytes if no rank is given."""


class Source(NamedTuple):
    """A trained model to make an adapter from.

    Attributes:
        given: its name in the command, without a path.
        ends: the model, and the encoder that its training started from.
        lora_rank: the LoRA rank of the training run; None if it trained all weights or is unknown.
        card: makes the adapter's card from a note and its metrics, both in Markdown.
    """

    given: str
    ends: Ends
    lora_rank: int | None
    card: Callable[[str, str], str]


class Written(NamedTuple):
    """An adapter's folder.

    Attributes:
        size: the size of the weights file in bytes.
        layers: the number of layers that the adapter changes.
        rank, share, share_of_layers: as in `LowRank`.
    """

    folder: Path
    size: int
    layers: int
    rank: int
    share: float
    share_of_layers: float


def source_of(session: Session, settings: Settings, number: int) -> Source:
    """The model of a run: a training run, or a saved point of a trade-off.

    Raises:
        HedgerowError: there is no such run, it has no model, or the model's folder is gone.
    """
    run = training = model_run(session, number)
    mixed = ""
    if run.kind == tradeoff_save.KIND:
        training = get_run(session, int(run.parameters["training"]))
        mixed = tradeoff_save.note_of(float(run.result["share"])) + " "
    ends = ends_of(session, settings, training)
    folder = settings.data_folder / str(run.result["model"])
    if not folder.is_dir():
        raise HedgerowError(
            f"The model of run {number} is no longer at {folder}; put it back, or use another run."
        )

    def card(note: str, measured: str) -> str:
        return card_of_run(session, training, note=mixed + note, measured=measured)

    row = session.get(Encoder, run.result["encoder_id"])
    trained = ModelLocation(str(folder), row.fingerprint if row else "")
    ends = ends._replace(model=f"run {number}", trained=trained)
    return Source(str(number), ends, values_of(training).get("lora_rank"), card)


def source_in(folder: str) -> Source:
    """The model in a folder, which must be trained from the built-in encoder.

    Raises:
        HedgerowError: there is no such folder.
    """
    place = resolve_encoder(folder)
    if not isinstance(place, Path):
        raise HedgerowError(
            f"Expected a run's number or a model folder, found {folder!r}. 'hedgerow runs list' "
            "shows the runs."
        )
    ends = Ends(
        model=f"the model in {folder!r}",
        base=ModelLocation(DEFAULT_ENCODER, ""),
        trained=ModelLocation(str(place), ""),
        own_share=1.0,
        seed=0,
    )

    def card(note: str, measured: str) -> str:
        return card_of_folder(DEFAULT_ENCODER, note=note, measured=measured)

    return Source("FOLDER", ends, None, card)


def write_adapter(
    source: Source, folder: Path, *, rank: int | None = None, figures: Path | None = None
) -> Written:
    """Write the adapter of a trained model to a new folder.

    Args:
        rank: by default, the rank of the training run if it used LoRA, or else the largest rank
            with which the weights file has at most `LARGEST` bytes.
        figures: a file with the adapter's results for its card, as in `read_figures`.

    Raises:
        HedgerowError: the folder already exists or cannot be written, the model can't be expressed
            as a change of its base's weights, or the file of results has other content.
    """
    target = resolved(folder)
    _require_free(target)
    base_name = source.ends.base.name
    measured = read_figures(figures, base=base_name) if figures else NOT_MEASURED
    made = _low_rank(source, rank)
    files = {
        ADAPTER_CONFIG: _config(made, public_base(base_name) or base_name),
        CARD: source.card(note_of(made, command=_command(source, rank)), measured),
    }
    size = _write(target, made, files)
    return Written(target, size, len(made.layers), made.rank, made.share, made.share_of_layers)


def _require_free(target: Path) -> None:
    if target.exists() or target.is_symlink():
        raise HedgerowError(f"{str(target)!r} already exists; choose a new folder.")


def _command(source: Source, rank: int | None) -> str:
    asked = f"hedgerow adapter DIR --model {source.given}"
    return f"{asked} --rank {rank}" if rank else asked


def _low_rank(source: Source, rank: int | None) -> LowRank:
    ends = source.ends
    place = resolve_encoder(ends.base.name)
    if isinstance(place, Path) and is_adapter(place):
        raise HedgerowError(
            f"The base of {ends.model}, {ends.base.name!r}, is itself an adapter; expected a "
            "whole encoder."
        )
    base, trained = load_both(ends)
    weights = alike(base.state_dict(), trained.state_dict(), ends)
    if _besides_weights(base) != _besides_weights(trained):
        raise HedgerowError(
            f"The encoder of {ends.model} differs from {ends.base.name!r} in more than its "
            "weights, for example in pooling; an adapter contains only weights, so publish the "
            "whole model."
        )
    wanted = rank or source.lora_rank
    return low_rank(trained, weights, rank=wanted, largest=LARGEST, what=ends.model)


def _besides_weights(model: SentenceTransformer) -> list[Any]:
    """Everything besides the weights that affects embeddings: maximum length, pooling and so on."""
    modules = list(model)[1:]
    return [model.max_seq_length, *((type(m).__name__, m.get_config_dict()) for m in modules)]


def _config(made: LowRank, base: str) -> str:
    """The adapter's configuration as peft reads it."""
    from peft import LoraConfig

    config = LoraConfig(
        r=made.rank,
        lora_alpha=made.rank,
        target_modules=made.layers,
        base_model_name_or_path=base,
        task_type="FEATURE_EXTRACTION",
        inference_mode=True,
    ).to_dict()
    lists = {key: sorted(value) for key, value in config.items() if isinstance(value, set)}
    return json.dumps(config | lists, indent=2, sort_keys=True) + "\n"


def _write(target: Path, made: LowRank, files: dict[str, str]) -> int:
    """Write the folder completely or not at all. Returns the size of the weights file."""
    from safetensors.torch import save_file

    draft = new_partial(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        clear_partials(target)
        draft.mkdir()
        save_file(made.tensors, draft / ADAPTER_WEIGHTS, metadata={"format": "pt"})
        (draft / ADAPTER_WEIGHTS).chmod(
            0o644
        )  # safetensors creates it without read access for others
        for name, text in files.items():
            (draft / name).write_text(text, encoding="utf-8", newline="\n")
        size = (draft / ADAPTER_WEIGHTS).stat().st_size
        _require_free(target)  # the folder may have been created in the meantime
        draft.rename(target)
        return size
    except (OSError, SafetensorError) as error:
        raise HedgerowError(
            f"The adapter {str(target)!r} cannot be written ({error}); free some disk space, "
            "check the folder's permissions, or choose another folder."
        ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


# -- The card of an adapter: how it was made, and its benchmark results if there are any ----------


NOT_MEASURED = "None were measured."

_BASE = ""
"""Placeholder for the base model."""

LARGEST_FILE = 10 * 1024 * 1024
"""Maximum size of a file of metrics in bytes. A line also contains a benchmark's breakdowns."""


def note_of(made: LowRank, *, command: str) -> str:
    """How an adapter was made, in Markdown.

    Args:
        command: the command that made it, without paths.
    """
    return (
        f"`{command}` created this adapter from the trained model. For each of the "
        f"{len(made.layers)} linear layers that training changed, it contains the truncated "
        f"singular value decomposition of the change at rank {made.rank}, in float16. This "
        f"covers {made.share:.1%} of the change of all weights (as the sum of squares) and "
        f"{made.share_of_layers:.1%} of the change of these layers."
    )


def card_of_run(session: Session, run: Run, *, note: str, measured: str) -> str:
    """The card of an adapter from a training run's model.

    Args:
        note: the result of `note_of`.
        measured: the adapter's own metrics in Markdown, because the run's metrics are those of the
            whole model.
    """
    of_the_model = ("held_out", "encoder_id", "before_encoder_id")
    kept = {key: value for key, value in run.result.items() if key not in of_the_model}
    return card_of(session, run, kept, note=note, form=ADAPTER._replace(measured=measured))


def card_of_folder(base: str, *, note: str, measured: str) -> str:
    """The card of an adapter made from a model folder, without a run.

    Args:
        base: the encoder that training started from.
        note, measured: as in `card_of_run`.
    """
    public = public_base(base)
    limits = "\n".join(f"- {limit}" for limit in LIMITS)
    sections = [
        *opening(public, ADAPTER),
        f"## Figures before and after\n\n{measured}",
        f"## Training\n\n{note}\n\nThe recipe, the release and the seed are in the trained model's "
        "own card.",
        f"## Intended use\n\n{INTENDED}",
        f"## Limits\n\n{limits}",
        f"## Citation\n\n{CITATION}",
    ]
    return f"---\n{header(public, ADAPTER, ())}---\n\n" + "\n\n".join(sections) + "\n"


def read_figures(path: Path, *, base: str) -> str:
    """The results of benchmarks as a table in Markdown, before and after.

    Args:
        path: a file with lines from ``hedgerow benchmark … --json`` for two models.
        base: the name of the model before.

    Raises:
        HedgerowError: the file can't be read or has other content.
    """
    text = read_text(path, kind="results of benchmarks", largest=LARGEST_FILE)
    sides: dict[str, dict[tuple[str, str, int], float]] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            found = _result(line, place=f"line {number} of {str(path)!r}")
            side = _BASE if found["model"] in (base, public_base(base)) else found["model"]
            key = (found["benchmark"], found["metric"], found["n"])
            sides.setdefault(side, {})[key] = found["score"]
    before = sides.pop(_BASE, {})
    if len(sides) != 1:
        raise HedgerowError(
            f"Expected results of {base!r} and of one adapter in {str(path)!r}, found those of "
            f"{len(sides)} other models."
        )
    (after,) = sides.values()
    rows = [
        [*key, *(f"{side[key]:.1f}" if key in side else NO_FIGURE for side in (before, after))]
        for key in dict.fromkeys([*before, *after])
    ]
    table = markdown_table(["benchmark", "metric", "n", "before", "after"], rows)
    return f"Scores of Hedgerow's benchmarks, in points:\n\n{table}"


def _result(line: str, *, place: str) -> Mapping[str, Any]:
    """One result of a benchmark."""
    kinds = {"benchmark": str, "metric": str, "n": int, "model": str, "score": int | float}
    try:
        found = read_json(line)
    except JsonError:
        found = None
    if not isinstance(found, dict) or any(
        not isinstance(found.get(key), kind) for key, kind in kinds.items()
    ):
        raise HedgerowError(
            f"Expected a result as 'hedgerow benchmark … --json' prints it in {place}, found "
            "something else."
        )
    return found
