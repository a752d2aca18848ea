"""Models to benchmark: checking a choice, finding the model, and loading its scorer."""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from sqlalchemy.orm import Session

from curation.encoders.checkpoint_files import writes_text
from curation.encoders.model_folders import encoder_folder, is_plugged_in
from curation.generation.prompts import MeasuringName
from curation.generation.request import Budget
from curation.generation.run import chat_model
from curation.validation import FieldPath, checked, in_words
from db.errors import HedgerowError
from db.settings import Settings
from training.benchmarks.runs.model_choice import CHAT as CHAT
from training.benchmarks.runs.model_choice import MAX_PROMPT as MAX_PROMPT
from training.benchmarks.runs.model_choice import PROMPTED, scoring_description, scoring_of
from training.benchmarks.runs.model_choice import ModelChoice as ModelChoice
from training.benchmarks.scorers.architecture import (
    SCORERS,
    fitting,
    known_from_files,
    load_scorer,
    require_prompts_fit,
)
from training.benchmarks.scorers.dpr import Dpr, require_half, require_halves
from training.benchmarks.scorers.embedding_models import BiEncoder, Cross, Sparse
from training.benchmarks.scorers.interface import OWN_PROMPTS, Prompts, Random, Scorer, TfIdf
from training.benchmarks.scorers.late_interaction import LateInteraction
from training.benchmarks.scorers.prompted.causal import Causal
from training.benchmarks.scorers.prompted.chat import Chat
from training.benchmarks.scorers.prompted.costs import Account
from training.benchmarks.scorers.prompted.wording import (
    NEWEST_PROMPTS,
    PromptVersions,
    Wording,
    installed,
    wording_of,
)
from training.models.display_names import JOINED_BY, short_name
from training.models.known import MAX_ENCODER_NAME, clean_name, folder_of, location_of

BASELINES = {TfIdf.architecture: "TF-IDF", Random.architecture: "random scores"}
"""Architectures without a model, and the names of their results."""

_WITH_MODEL = (BiEncoder, Sparse, LateInteraction, Cross)
GENERAL = tuple(scorer.architecture for scorer in _WITH_MODEL)
"""Architectures that can do mteb tasks. A cross-encoder can only do reranking."""


class FoundModel(NamedTuple):
    """A model that was found.

    Attributes:
        name: the name in its results.
        scoring: the result of `scoring_of`.
        hash: the fingerprint of its files; '' without local files.
        place: the name or path for `load_scorer`.
        folders: the folders of its files; none without local files.
        wording: the prompts, for a language model.
    """

    choice: ModelChoice
    name: str
    architecture: str
    scoring: str = ""
    hash: str = ""
    place: str = ""
    folders: tuple[Path, ...] = ()
    wording: Wording = installed()

    @property
    def edited(self) -> dict[str, int | None]:
        """The edited prompts, as in `Wording.edited`; empty for models without prompts."""
        return self.wording.edited if self.architecture in PROMPTED else {}

    def asked_with(self, prompt: MeasuringName | None) -> Self:
        """The model for a benchmark that uses this prompt, or none. Edits of other prompts have no
        effect on it."""
        if self.architecture not in PROMPTED:
            return self
        wording = installed()
        if prompt is not None:
            wording = wording._replace(**{prompt: self.wording.template(prompt)})
        folder = self.folders[0] if self.folders else None
        scoring = scoring_of(folder, self.architecture, self.choice.prompts, wording)
        return self._replace(wording=wording, scoring=scoring)

    @property
    def title(self) -> str:
        """For people."""
        return model_title(
            short_name(self.name), self.architecture, self.scoring, self.choice.prompts, self.edited
        )


def model_title(
    name: str,
    architecture: str,
    scoring: str = "",
    prompts: Prompts = OWN_PROMPTS,
    edited: Mapping[str, int | None] | None = None,
) -> str:
    """The title of a result's model: its name, and in parentheses whatever is unusual about it.

    Args:
        name: its short name.
        edited: the edited prompts of a language model, as in `Wording.edited`.
    """
    usual = architecture in (BiEncoder.architecture, name) or name in BASELINES.values()
    notes = [] if usual else [architecture]
    notes += scoring_description(scoring, prompts, edited)
    return f"{name} ({', '.join(notes)})" if notes else name


def chosen_model(
    values: Mapping[str, Any], *, called: Callable[[FieldPath], str] = in_words
) -> ModelChoice:
    """The requested model.

    Args:
        called: the user's names for the values, for messages.

    Raises:
        HedgerowError: a value is not usable, or as in `require_known`.
    """
    choice = checked(ModelChoice, values, called=called)
    require_known(choice)
    return choice


def require_known(choice: ModelChoice) -> None:
    """Check that the architecture exists and that the choice is complete.

    Raises:
        HedgerowError: the architecture is unknown or takes no prompts, the name is missing, or a
            plug-in can't be loaded.
    """
    if choice.takes != "nothing" and not choice.name.strip():
        raise HedgerowError(
            f"Expected a model for the architecture {choice.architecture}, found none; enter its "
            "name."
        )
    if choice.architecture:
        require_prompts_fit(choice.architecture, choice.prompts)
    if choice.architecture == Dpr.architecture:
        require_halves(choice.name)


def clean_model(session: Session, choice: ModelChoice) -> ModelChoice:
    """The choice in its stored form, with the model name that results use.

    Raises:
        HedgerowError: as in `clean_name`.
    """
    require_known(choice)
    if choice.takes == "nothing":
        name = BASELINES.get(choice.architecture, choice.architecture)
        return ModelChoice(name=name, architecture=choice.architecture)
    if choice.takes == "name":
        return choice.model_copy(update={"name": choice.name.strip()})
    name = JOINED_BY.join(clean_name(session, part) for part in choice.parts)
    if len(name) > MAX_ENCODER_NAME:
        raise HedgerowError(
            f"Expected a model name of at most {MAX_ENCODER_NAME} characters, found {len(name)}; "
            "move its folder to a shorter path."
        )
    architecture = Dpr.architecture if len(choice.parts) > 1 else choice.architecture
    return choice.model_copy(update={"name": name, "architecture": architecture})


def find_model(
    session: Session,
    settings: Settings,
    choice: ModelChoice,
    asked_with: PromptVersions = NEWEST_PROMPTS,
) -> FoundModel:
    """The model of a choice returned by `clean_model`. A model on the hub is downloaded.

    Args:
        asked_with: the versions of the prompts for language models.

    Raises:
        HedgerowError: its files are gone, have changed, or can't be downloaded.
    """
    wording = wording_of(session, asked_with)
    if choice.takes != "model":
        scoring = scoring_of(None, choice.architecture, choice.prompts, wording)
        place = choice.name if choice.takes == "name" else ""
        return FoundModel(
            choice, choice.name, choice.architecture, scoring, place=place, wording=wording
        )
    places = [location_of(session, settings, part) for part in choice.parts]
    hashes = [place.checked() for place in places]
    named = [place.name for place in places if not is_plugged_in(place.name)]
    folders = tuple(map(encoder_folder, named))
    architecture = choice.architecture or known_from_files(places[0].name)
    return FoundModel(
        choice,
        choice.name,
        architecture,
        scoring_of(folders[0] if folders else None, architecture, choice.prompts, wording),
        hashes[0] if len(hashes) == 1 else hashlib.sha256("\n".join(hashes).encode()).hexdigest(),
        JOINED_BY.join(place.name for place in places),
        folders,
        wording,
    )


def require_fitting(session: Session, settings: Settings, choice: ModelChoice) -> None:
    """Check that the local files of a model match the chosen architecture.

    Args:
        choice: as in `clean_model`.

    Raises:
        HedgerowError: they do not, or the files are gone.
    """
    if choice.takes != "model":
        return
    folders = [folder_of(session, settings, part) for part in choice.parts]
    for number, folder in enumerate(folders):
        if folder is None:
            continue
        if choice.architecture == Dpr.architecture:
            require_half(folder, number)
        elif choice.architecture in ("", *SCORERS):
            fitting(folder, choice.architecture, name=choice.name)


def usable_model(session: Session, settings: Settings, choice: ModelChoice) -> ModelChoice:
    """The choice in its stored form, after checking that the files match the architecture.

    A model that is not on this machine yet is accepted.

    Raises:
        HedgerowError: as in `clean_model` and `require_fitting`.
    """
    clean = clean_model(session, choice)
    require_fitting(session, settings, clean)
    return clean


def may_be_asked(session: Session, settings: Settings, choice: ModelChoice) -> bool:
    """Whether the model is, or may be, a language model that gets prompts.

    Args:
        choice: as in `clean_model`.

    Raises:
        HedgerowError: its files are gone or damaged.
    """
    if choice.architecture or len(choice.parts) > 1 or is_plugged_in(choice.name):
        return choice.architecture in PROMPTED
    folder = folder_of(session, settings, choice.name)
    return folder is None or writes_text(folder)


def may_do_general(architecture: str, prompts: Prompts) -> bool:
    """Whether the model can do mteb tasks. They need embeddings and the model's own prompts.

    Args:
        architecture: '' if only the model's files show it.
    """
    return architecture in ("", *GENERAL) and prompts == OWN_PROMPTS


def may_do_language(architecture: str) -> bool:
    """Whether the model can do lm_eval tasks. They need the likelihood of any text.

    Args:
        architecture: '' if only the model's files show it.
    """
    return architecture in ("", Causal.architecture)


ACCOUNT = "spent.txt"
"""The file with the account of the chat models, in the folder of a run."""


def scorer_of(
    found: FoundModel,
    settings: Settings,
    *,
    folder: Path | None = None,
    budget: Budget | None = None,
) -> Scorer:
    """Load the model.

    Args:
        folder: the folder of the run. It stores a chat model's answers and their cost, so that no
            answer is paid for twice.
        budget: US dollars at which the run pauses.

    Raises:
        HedgerowError: it can't be loaded, or has another architecture.
    """
    if found.architecture == CHAT:
        model = chat_model(found.choice.request(), settings)
        if folder is None:
            return Chat(model, wording=found.wording)
        account = Account(folder / ACCOUNT, found.choice.price, budget or Budget())
        memory = folder / f"answers-{_digest(found.choice)}.txt"
        return Chat(model, memory=memory, account=account, wording=found.wording)
    scorer = load_scorer(found.place, found.architecture, prompts=found.choice.prompts)
    if isinstance(scorer, Causal):
        scorer.wording = found.wording
    return scorer


def _digest(choice: ModelChoice) -> str:
    """A key that distinguishes chat models. It does not depend on the price."""
    asked = choice.model_dump_json(exclude={"price"})
    return hashlib.sha256(asked.encode()).hexdigest()[:12]


def inner_model(scorer: Scorer) -> Any:
    """The sentence-transformers model for mteb.

    Raises:
        HedgerowError: the scorer has none.
    """
    if not isinstance(scorer, _WITH_MODEL):
        raise HedgerowError(
            f"Expected an embedding model for mteb tasks, found {scorer.architecture}; choose "
            "another model, or remove these tasks."
        )
    return scorer.model


def language_model(scorer: Scorer) -> tuple[Any, Any]:
    """The model and the tokenizer for lm_eval.

    Raises:
        HedgerowError: the scorer has none.
    """
    if not isinstance(scorer, Causal):
        raise HedgerowError(
            f"Expected a language model for lm_eval tasks, found {scorer.architecture}; choose "
            "another model, or remove these tasks."
        )
    return scorer.model, scorer.tokenizer
