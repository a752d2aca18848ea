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
    """The language models of `hedgerow.Project`."""

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
            release: otherwise the newest.
            base: the model's folder, or its name on the model hub.
            arm: which variants the questions are about: both, paper, negation or hedging;
                otherwise the recipe's.
            recipe: a YAML file; otherwise the HedgeTriple paper's values.
            seed: determines the sample and the order of the pairs; a fixed one by default.
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
        """Finetune a language model on a release's question pairs at its provider.

        This waits until the provider is done, which can take hours. If it is interrupted, the job
        goes on there, and 'hedgerow run ID' follows it again.

        Args:
            model, base_url: as the server calls it, and the server's address, which speaks
                OpenAI's protocol. The key is OPENAI_API_KEY.
            release: otherwise the newest.
            arm: which variants are asked about, as in `Release.question_pairs`.
            epochs, seed: the provider's own unless named.
            dry_run: only return the estimate.

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

        values = {"model": model, "base_url": base_url, "release": asked.release_number(release)}
        values |= {"arm": arm, "epochs": epochs, "seed": asked.seed(seed)}
        return finetune(self._home, values, dry_run=dry_run)
