"""Training and evaluating models on a project's releases."""

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
    from hedgerow.models.similarities import Model
    from hedgerow.models.studying import StudyResult
    from hedgerow.models.tradeoff import Tradeoff
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
        """Finetune an encoder on a release and evaluate it before and after.

        Args:
            release: default is the newest, or a first one made from all sources.
            preset: quick, standard, thorough or paper; default is the one that fits the release.
            recipe: a YAML file instead of a preset.
            seed: for the order of the data and the dropout; a fixed one by default.
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
            asked.release_number(release),
            preset=preset,
            recipe=Path(recipe) if recipe else None,
            settings=settings,
            seed=asked.seed(seed),
        )

    def study(
        self,
        name: str,
        release: Release | int | None = None,
        *,
        preset: str = "",
        seed: int | None = None,
        benchmarks: str | Sequence[str] = (),
        suites: str | Sequence[str] = (),
        **settings: Any,
    ) -> StudyResult:
        """Train several times with different data, and compare the models.

        Args:
            name: data, triples, types, writers or sources, see docs/training.md.
            release: default is the newest.
            preset: default is 'paper' for the study 'data', and for the others the one that fits
                the release.
            seed, settings: as in `train`, for all runs.
            benchmarks, suites: measure every model afterwards with these benchmarks, on their
                latest data, and these suites of mteb tasks.

        Raises:
            HedgerowError: no such study or release, too little for it, another one is under way,
                a wrong setting, data missing, or the run ended early; 'hedgerow run ID' goes on
                with it.
        """
        from hedgerow.models.studying import store_study, study_result
        from hedgerow.runs.running import carry_out

        run = store_study(
            self._home,
            name,
            asked.release_number(release),
            preset=preset,
            changes=settings,
            seed=asked.seed(seed),
            benchmarks=asked.names(benchmarks, what="benchmarks"),
            suites=asked.names(suites, what="suites"),
        )
        carry_out(*self._home, run.id)
        return study_result(self._home, run.id)

    def tradeoff(
        self,
        model: TrainedEncoder | int,
        *,
        share: float | None = None,
        sts: str | Path | None = None,
    ) -> Tradeoff:
        """How a training run trades general ability for negation; measured if necessary.

        The weights of the base encoder and the finetuned ones are mixed; nothing is trained.

        Args:
            model: the model, or the number of its run.
            share: a share of the finetuned weights, from 0 to 1, to measure besides the tenths.
            sts: a file with a score and two sentences a line, separated by tabs, which measures
                general ability in addition to retrieval and drift.

        Returns:
            Its points, which can be saved as models.

        Raises:
            HedgerowError: no such training, its model is gone, or too little is held out.
        """
        from hedgerow.models.tradeoff import tradeoff

        return tradeoff(self._home, _run_of(model), share=share, sts=sts)

    def push(
        self, model: TrainedEncoder | int, repo: str, *, private: bool = True
    ) -> dict[str, Any]:
        """Publish a model that was trained here on the Hugging Face Hub.

        The access token is that of HF_TOKEN, or of 'hf auth login'; HF_ENDPOINT names another hub.

        Args:
            model: it, or the number of its run.
            repo: OWNER/NAME, made if it is not there.
            private: whether only you can see it.

        Returns:
            url, commit and size (bytes), with the number of the run as ``run``.

        Raises:
            HedgerowError: no such model, no token, no right to write, or the hub can't be reached.
        """
        from hedgerow.publishing import store_push
        from hedgerow.runs.running import carry_out
        from training.hub.push_run import Subject

        subject = Subject(run=_run_of(model))
        return carry_out(*self._home, store_push(self._home, subject, repo, private=private))

    def similarity(
        self,
        model: Model,
        pairs: Iterable[Sequence[str]] | None = None,
        *,
        before: Model | None = None,
    ) -> pd.DataFrame:
        """Similarity of sentence pairs under one or two models.

        Args:
            model: a loaded encoder, a folder, or a name.
            pairs: of two sentences each, and a label if you like; otherwise those of the
                HedgeTriple paper's Figure 1.
            before: a model to compare it with.

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
        """Run a benchmark, or a task of mteb or lm_eval, with a model.

        Args:
            model: one that was trained here, a folder, or a name.
            name: such as 'semantoneg' or 'nevir', see docs/benchmarks.md; or 'mteb:TASK'; or
                'lm_eval:TASK' for a language model.
            data: in the published format. Default: the latest data, or the data on the model hub.
                For 'lm_eval:TASK', a folder with your own tasks.
            architecture: default is that in the model's files.
            query_prompt, document_prompt: text before each; default is the model's own prompt.
            prompts: of a language model, the version of each prompt by its name ('relevance',
                'similarity', 'paraphrase_choice'); otherwise the newest.
            release, split: the data of 'hedgerow'; default is the test split of the newest.

        Raises:
            HedgerowError: no such model, benchmark or data, or the run ended early.
        """
        from hedgerow.models.benchmarks import measure

        scores = measure(
            self._home,
            name,
            _name_of(self._home, model),
            data=Path(data) if data else None,
            release=asked.release_number(release),
            split=asked.split_of(split) or Split.TEST,
            prompts=prompts,
            options={
                "architecture": architecture,
                "query_prompt": query_prompt,
                "document_prompt": document_prompt,
            },
        )
        return scores[0]


def _run_of(model: TrainedEncoder | int) -> int:
    """The run that trained a model."""
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
