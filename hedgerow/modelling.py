"""What is trained on a project's releases, and measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from db.engine import reading
from db.errors import HedgerowError
from db.models import Split
from hedgerow import asked
from hedgerow.home import Home

if TYPE_CHECKING:
    import pandas as pd

    from hedgerow.data.releases import Release
    from hedgerow.models.benchmarks import Score
    from hedgerow.models.language_models import LanguageModel
    from hedgerow.models.similarities import Model
    from hedgerow.models.trained import TrainedEncoder


class Modelling:
    """The models of `hedgerow.Project`."""

    _home: Home

    def train(
        self,
        release: Release | int | None = None,
        *,
        preset: str | None = None,
        recipe: str | Path | None = None,
        seed: int | None = None,
        **settings: Any,
    ) -> TrainedEncoder:
        """Finetune an encoder on a release and measure what that changed.

        Args:
            release: otherwise the newest, made of all sources if there is none.
            preset: quick, standard, thorough or paper; otherwise the one that fits the release.
            recipe: a YAML file in place of a preset.
            seed: decides order and dropout; the same one unless named.
            settings: changes of the recipe, such as ``max_steps=100`` or
                ``base_encoder="my_encoder"`` (see docs/training.md).

        Returns:
            A `SentenceTransformer` with ``run``, ``folder`` and ``figures``.

        Raises:
            HedgerowError: too little to train on, a wrong setting, or the run ended early;
                'hedgerow run ID' goes on with it.
        """
        from hedgerow.models.training import train

        return train(
            self._home,
            _number(release),
            preset=preset,
            recipe=Path(recipe) if recipe else None,
            settings=settings,
            seed=_seed(seed),
        )

    def finetune_language_model(
        self,
        release: Release | int | None = None,
        *,
        base: str | Path,
        arm: str | None = None,
        recipe: str | Path | None = None,
        seed: int | None = None,
        merge: bool = False,
        **settings: Any,
    ) -> LanguageModel:
        """Finetune a causal language model on a release's question pairs with LoRA.

        Args:
            release: otherwise the newest.
            base: the model's folder, or its name on the model hub.
            arm: which variants the questions are about: both, paper, negation or hedging;
                otherwise the recipe's.
            recipe: a YAML file; otherwise the HedgeTriple paper's values.
            seed: decides the draw and order of the pairs; the same one unless named.
            merge: save the model merged with its adapter, too.
            settings: changes of the recipe, such as ``epochs=3`` or ``max_pairs=1000`` (see
                docs/language_models.md).

        Returns:
            The adapter's ``folder``, with ``run`` and ``figures``.

        Raises:
            HedgerowError: no question pairs, no causal language model, a wrong setting, or the run
                ended early; 'hedgerow run ID' goes on with it.
        """
        from hedgerow.models.language_models import finetune

        return finetune(
            self._home,
            _number(release),
            base=str(base),
            arm=arm,
            recipe=Path(recipe) if recipe else None,
            settings=settings,
            seed=_seed(seed),
            merge=merge,
        )

    def finetune_at_provider(
        self,
        model: str,
        release: Release | int | None = None,
        *,
        base_url: str = "",
        arm: str = "both",
        epochs: int | None = None,
        seed: int | None = None,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Finetune a language model on a release's question pairs at its provider.

        This waits until the provider is done, which can take hours. If it is interrupted, the job
        goes on there, and 'hedgerow run ID' follows it again.

        Args:
            model, base_url: as the server calls it, and the server's address, which speaks
                OpenAI's protocol. The key is OPENAI_API_KEY.
            release: otherwise the newest.
            arm: which variants are asked about, as in `Release.question_pairs`.
            epochs, seed: the provider's own unless named.
            dry_run: only say what it would take.

        Returns:
            ``fine_tuned_model`` (what the provider calls the new model), ``job``, ``run``,
            ``tokens`` and ``cost``; of a dry run ``train``, ``validation``, ``tokens`` and
            ``cost``, None where no price is known.

        Raises:
            HedgerowError: too few question pairs, a wrong value, or the job failed.

        >>> project = example_project()
        >>> project.anchors.add([f"The bridge over brook {n} is safe." for n in range(9)]).count
        9
        >>> done = project.generate(provider="rules", types=["verbal", "word"])
        >>> decided = project.decide_by_rule("levenshtein < 40", "accept", reviewer="me")
        >>> release = project.release("first")
        >>> project.finetune_at_provider("gpt-4o-mini", release, dry_run=True)["train"]
        18
        """
        from hedgerow.models.provider import finetune

        values = {"model": model, "base_url": base_url, "release": _number(release)}
        values |= {"arm": arm, "epochs": epochs, "seed": _seed(seed)}
        return finetune(self._home, values, dry_run=dry_run)

    def similarity(
        self,
        model: Model,
        pairs: Iterable[Sequence[str]] | None = None,
        *,
        before: Model | None = None,
    ) -> pd.DataFrame:
        """How similar sentence pairs are to a model, and to another before it.

        Args:
            model: a loaded encoder, a folder, or a name.
            pairs: of two sentences each, and a label if you like; otherwise those of the
                HedgeTriple paper's Figure 1.
            before: what to compare it with.

        Returns:
            anchor, text, label, series ('before' or 'after') and cosine in [-1, 1].

        Raises:
            HedgerowError: no such encoder, or something else than pairs.

        >>> rows = example_project().similarity("all-MiniLM-L6-v2", [("It is on.", "It is on.")])
        >>> rows["cosine"].round(2).tolist()
        [1.0]
        """
        from hedgerow.models.similarities import similarities

        return similarities(self._home, model, pairs, before)

    def benchmark(
        self,
        model: TrainedEncoder | str | Path,
        name: str,
        *,
        data: str | Path | None = None,
        architecture: str = "",
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        prompts: Mapping[str, int] | None = None,
        release: Release | int | None = None,
        split: str = "test",
    ) -> Score:
        """Measure a model with a benchmark, or with a task of mteb's or lm_eval's.

        Args:
            model: one that was trained here, a folder, or a name.
            name: such as 'semantoneg' or 'nevir', see docs/benchmarks.md; or 'mteb:TASK'; or
                'lm_eval:TASK' for a language model.
            data: in the published format; otherwise what was named last, or the model hub's. For
                'lm_eval:TASK', a folder with tasks of your own.
            architecture: otherwise what the model's files say.
            query_prompt, document_prompt: put before each; otherwise the model's own.
            prompts: of a language model, the version of each prompt by its name ('relevance',
                'similarity', 'paraphrase_choice'); otherwise the newest.
            release, split: what 'hedgerow' measures on: the newest, and test, unless named.

        Raises:
            HedgerowError: no such model, benchmark or data, or the run ended early.
        """
        from hedgerow.models.benchmarks import measure

        scores = measure(
            self._home,
            name,
            _name_of(self._home, model),
            data=Path(data) if data else None,
            release=_number(release),
            split=asked.split_of(split) or Split.TEST,
            prompts=prompts,
            options={
                "architecture": architecture,
                "query_prompt": query_prompt,
                "document_prompt": document_prompt,
            },
        )
        return scores[0]


def _number(release: Release | int | None) -> int | None:
    if release is None or isinstance(release, int):
        return release
    number = getattr(release, "number", None)
    if not isinstance(number, int):
        raise HedgerowError(f"Expected a release or its number, found {release!r}.")
    return number


def _seed(given: int | None) -> int | None:
    if given is not None and not isinstance(given, int):
        raise HedgerowError(f"Expected a seed, a whole number, found {given!r}.")
    return given


def _name_of(home: Home, model: TrainedEncoder | str | Path) -> str:
    """The folder or name by which a run finds a model again."""
    if isinstance(model, str | Path):
        return str(model)
    folder = getattr(model, "folder", None)
    if folder is None:
        raise HedgerowError(
            f"Expected a model that was trained here, a folder or a name, found a "
            f"{type(model).__name__} in memory; save it with save_pretrained and give its folder."
        )
    from curation.encoders.registered import encoder_name

    with reading(home.engine) as session:
        return encoder_name(session, home.settings, str(folder))
