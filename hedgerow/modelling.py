"""Training and evaluating models on a project's releases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from db.engine import reading
from db.errors import HedgerowError
from db.models import Split
from hedgerow import arguments
from hedgerow.home import Home, acting

if TYPE_CHECKING:
    import pandas as pd

    from hedgerow.benchmarks import Score
    from hedgerow.language_models import LanguageModel
    from hedgerow.releases import Release
    from hedgerow.similarities import Model
    from hedgerow.studies import StudyResult, Tradeoff
    from hedgerow.trained import TrainedEncoder


class Modelling:
    """The methods of `hedgerow.Project` that train and evaluate models."""

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
        """Finetune an encoder on a release and evaluate it before and after.

        Args:
            release: the release or its number; by default the newest release. If the project has
                no release, one is created from all sources.
            preset: 'quick', 'standard', 'thorough' or 'paper'; by default the preset that fits the
                release.
            recipe: the path of a YAML file to use instead of a preset.
            seed: determines the order of the data and the dropout mask; by default a fixed seed.
            settings: values that override the recipe, such as ``max_steps=100`` or
                ``base_encoder="my_encoder"`` (see docs/recipes.md).

        Returns:
            A `SentenceTransformer` with ``run``, ``folder`` and ``figures``.

        Raises:
            HedgerowError: there is too little data, a setting is invalid, or the run ends early.
                'hedgerow run ID' resumes the run.
        """
        from hedgerow.running import carry_out
        from hedgerow.studies import loaded
        from training.encoder_run.requesting import TRAIN, Train

        request = arguments.request(
            Train, locals() | {"release": arguments.release_number(release)}
        )
        stored = TRAIN.perform(acting(self._home), request)
        return loaded(carry_out(*self._home, stored.run.id))

    def study(
        self,
        name: str,
        release: Release | int | None = None,
        *,
        preset: str | None = None,
        recipe: str | Path | None = None,
        seed: int | None = None,
        benchmarks: str | Sequence[str] = (),
        suites: str | Sequence[str] = (),
        **settings: Any,
    ) -> StudyResult:
        """Train several models that differ in one respect, and compare them.

        Args:
            name: 'data', 'triples', 'types', 'writers' or 'sources' (see docs/studies.md).
            release: the release or its number; by default the newest release.
            preset: by default 'paper' for the study 'data', and the preset that fits the release
                for the other studies.
            recipe: the path of a YAML file to use instead of a preset.
            seed, settings: as in `train`, for all training runs.
            benchmarks: benchmarks to evaluate every model on, with their latest data.
            suites: suites of mteb tasks to evaluate every model on.

        Returns:
            The results of the study.

        Raises:
            HedgerowError: the study or release is unknown, the release is too small, another study
                is running, a setting is invalid, benchmark data are missing, or the run ends
                early. 'hedgerow run ID' resumes the run.
        """
        from hedgerow.running import carry_out
        from hedgerow.studies import study_result
        from training.studies.study_run import RUN_STUDY, RunStudy

        release = arguments.release_number(release)
        benchmarks = arguments.names(benchmarks, what="benchmarks")
        suites = arguments.names(suites, what="suites")
        request = arguments.request(RunStudy, locals())
        run = RUN_STUDY.perform(acting(self._home), request)
        carry_out(*self._home, run.id)
        return study_result(self._home, run.id)

    def tradeoff(
        self,
        model: TrainedEncoder | int,
        *,
        share: float | None = None,
        sts: str | Path | None = None,
    ) -> Tradeoff:
        """Measure how a training run trades general ability for negation.

        Hedgerow interpolates between the weights of the base encoder and the finetuned weights.
        Nothing is trained. Stored measurements are reused.

        Args:
            model: the model, or the number of its run.
            share: a share of the finetuned weights, from 0 to 1, to measure in addition to the
                multiples of 0.1.
            sts: a tab-separated file with a score and two sentences per line. It measures general
                ability in addition to retrieval and drift.

        Returns:
            The trade-off, whose points can be saved as models.

        Raises:
            HedgerowError: the training run is unknown, its model has been deleted, or too little
                data are held out.
        """
        from hedgerow.studies import tradeoff
        from training.encoder_run.tradeoff import MeasureTradeoff

        request = arguments.request(MeasureTradeoff, locals() | {"training": _run_of(model)})
        return tradeoff(self._home, request)

    def push(
        self, model: TrainedEncoder | int, repo: str, *, private: bool = True
    ) -> dict[str, Any]:
        """Publish a model that was trained here on the Hugging Face Hub.

        The access token comes from HF_TOKEN or 'hf auth login'. HF_ENDPOINT selects another hub.

        Args:
            model: the model, or the number of its run.
            repo: the repository as OWNER/NAME; it is created if it does not exist.
            private: whether the repository is private. Unless this is False, Hedgerow does not
                publish to an existing public repository.

        Returns:
            url, commit and size (bytes), with the number of the run as ``run``.

        Raises:
            HedgerowError: the model is unknown, there is no token, the token has no write access,
                or the hub cannot be reached.
        """
        from hedgerow.running import carry_out
        from training.hub.push_run import PUSH, Push

        request = arguments.request(Push, locals() | {"run": _run_of(model)})
        return carry_out(*self._home, PUSH.perform(acting(self._home), request).id)

    def similarity(
        self,
        model: Model,
        pairs: Iterable[Sequence[str]] | None = None,
        *,
        before: Model | None = None,
    ) -> pd.DataFrame:
        """Compute the similarity of sentence pairs with one or two models.

        Args:
            model: a loaded encoder, a folder, or a name.
            pairs: pairs of sentences, each with an optional label; by default the pairs of Figure
                1 in the HedgeTriple paper.
            before: a second model for comparison.

        Returns:
            One row per pair and model: anchor, text, label, series ('before' or 'after') and
            cosine, in [-1, 1].

        Raises:
            HedgerowError: an encoder is unknown, or an item of ``pairs`` is not a pair.

        >>> rows = example_project().similarity("all-MiniLM-L6-v2", [("It is on.", "It is on.")])
        >>> rows["cosine"].round(2).tolist()
        [1.0]
        """
        from hedgerow.similarities import similarities

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
        """Evaluate a model on a benchmark, or on a task of mteb or lm_eval.

        Args:
            model: a model trained in this project, a folder, or a name.
            name: the name of a benchmark, such as 'semantoneg' or 'nevir' (see
                docs/benchmarks.md); 'mteb:TASK'; or 'lm_eval:TASK' for a language model.
            data: a file or folder in the published format; by default the latest data, or the data
                on the model hub. For 'lm_eval:TASK', a folder with your own tasks.
            architecture: the model's architecture; by default it is read from the model's files.
            query_prompt, document_prompt: text to prepend to queries and to documents; by default
                the model's own prompts.
            prompts: for a language model, the version of each prompt by name ('relevance',
                'similarity', 'paraphrase_choice'); by default the newest versions.
            release, split: the data for the benchmark 'hedgerow'; by default the test split of the
                newest release.

        Returns:
            The score.

        Raises:
            HedgerowError: the model or benchmark is unknown, its data are missing, or the run ends
                early.
        """
        from hedgerow.benchmarks import measure

        scores = measure(
            self._home,
            name,
            _name_of(self._home, model),
            data=Path(data) if data else None,
            release=arguments.release_number(release),
            split=arguments.split_of(split) or Split.TEST,
            prompts=prompts,
            options={
                "architecture": architecture,
                "query_prompt": query_prompt,
                "document_prompt": document_prompt,
            },
        )
        return scores[0]


def _run_of(model: TrainedEncoder | int) -> int:
    """The number of the run that trained a model."""
    number = getattr(model, "run", model)
    if not isinstance(number, int):
        raise HedgerowError(
            f"Expected a model that was trained here, or the number of its run, found a "
            f"{type(model).__name__}."
        )
    return number


def _name_of(home: Home, model: TrainedEncoder | str | Path) -> str:
    """The folder or name by which a run finds a model."""
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


class LanguageModels:
    """The methods of `hedgerow.Project` that finetune language models."""

    _home: Home

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
            release: the release or its number; by default the newest release.
            base: the folder of the base model, or its name on the model hub.
            arm: the variants that the questions are about: 'both', 'paper', 'negation' or
                'hedging'; by default the recipe's choice.
            recipe: the path of a YAML file; by default the values of the HedgeTriple paper.
            seed: determines the sample and the order of the pairs; by default a fixed seed.
            merge: whether to save the merged model as well as the adapter.
            settings: values that override the recipe, such as ``epochs=3`` or ``max_pairs=1000``
                (see docs/language_models.md).

        Returns:
            The finetuned model, with its ``folder``, ``run`` and ``figures``.

        Raises:
            HedgerowError: the release has no question pairs, the base is not a causal language
                model, a setting is invalid, or the run ends early. 'hedgerow run ID' resumes the
                run.
        """
        from hedgerow.language_models import finetune
        from training.llm.request import FinetuneLanguageModel

        given = locals() | {"release": arguments.release_number(release), "base": str(base)}
        return finetune(self._home, arguments.request(FinetuneLanguageModel, given))

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
        """Finetune a provider's language model on a release's question pairs.

        The call returns when the provider has finished, which can take hours. If the call is
        interrupted, the job continues at the provider, and 'hedgerow run ID' follows it again.

        Args:
            model: the provider's name of the model.
            base_url: the address of a server with an OpenAI-compatible API; by default OpenAI's.
                The API key is read from OPENAI_API_KEY.
            release: the release or its number; by default the newest release.
            arm: the variants that the questions are about, as in `Release.question_pairs`.
            epochs, seed: by default, the provider chooses them.
            dry_run: only estimate the tokens and the cost.

        Returns:
            ``fine_tuned_model`` (the provider's name of the new model), ``job``, ``run``,
            ``tokens`` and ``cost``. For a dry run: ``train``, ``validation``, ``tokens`` and
            ``cost``. The cost is None if no price is known.

        Raises:
            HedgerowError: there are too few question pairs, a value is invalid, or the job fails.

        >>> project = example_project()
        >>> project.anchors.add([f"The bridge over brook {n} is safe." for n in range(9)]).count
        9
        >>> done = project.generate(provider="rules", types=["verbal", "word"])
        >>> decided = project.decide_by_rule("levenshtein < 40", "accept", reviewer="me")
        >>> release = project.release("first")
        >>> project.finetune_at_provider("gpt-4o-mini", release, dry_run=True)["train"]
        18
        """
        from hedgerow.running import carry_out
        from training.llm.provider_request import FINETUNE_AT_PROVIDER, ProviderRequest, plan

        release = arguments.release_number(release)
        request, project = arguments.request(ProviderRequest, locals()), acting(self._home)
        if dry_run:
            return plan(project, request).facts
        return carry_out(*self._home, FINETUNE_AT_PROVIDER.perform(project, request).id)
