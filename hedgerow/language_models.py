"""Finetuning language models on a project's releases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow import asked
from hedgerow.home import Home

if TYPE_CHECKING:
    from hedgerow.data.releases import Release
    from hedgerow.models.language_models import LanguageModel


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
        from hedgerow.models.language_models import finetune

        return finetune(
            self._home,
            asked.release_number(release),
            base=str(base),
            arm=arm,
            recipe=Path(recipe) if recipe else None,
            settings=settings,
            seed=asked.seed(seed),
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
        from hedgerow.models.provider import finetune

        values = {"model": model, "base_url": base_url, "release": asked.release_number(release)}
        values |= {"arm": arm, "epochs": epochs, "seed": asked.seed(seed)}
        return finetune(self._home, values, dry_run=dry_run)
