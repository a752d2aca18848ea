"""The prompts for measuring language models, in the chosen versions."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from curation.generation.prompts import (
    MEASURING,
    PLACES,
    MeasuringName,
    built_in,
    find_version,
    prompt_versions,
    put_in,
)
from curation.validation import checked
from db.errors import HedgerowError
from training.benchmarks.definition import Asks, Question

CHOICES: dict[MeasuringName, int] = {"relevance": 2, "paraphrase_choice": 3}
"""The number of texts to choose from, by prompt; `similarity` asks for a number instead."""

_POSITIONS = ("{first}", "{second}", "{third}")
_TEXT: dict[MeasuringName, str] = {"relevance": "{query}", "paraphrase_choice": "{sentence}"}


class PromptVersions(BaseModel):
    """The version of each prompt; None means the newest."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    relevance: int | None = Field(default=None, ge=1)
    similarity: int | None = Field(default=None, ge=1)
    paraphrase_choice: int | None = Field(default=None, ge=1)

    def resolved(self, session: Session) -> Self:
        """The versions with the newest version's number instead of None.

        Raises:
            HedgerowError: there is no such version.
        """
        found = {name: _number(session, name, number) for name, number in self}
        return self.model_copy(update=found)


def _number(session: Session, name: str, number: int | None) -> int | None:
    """None only if no version is stored yet; then the installed prompts are used."""
    known = next(one for one in MEASURING if one == name)
    if number in (None, 1) and not prompt_versions(session, known):
        return None
    return find_version(session, name, number).version


NEWEST_PROMPTS = PromptVersions()


def chosen_versions(numbers: Mapping[str, int]) -> PromptVersions:
    """The requested versions, by the names of the prompts.

    Raises:
        HedgerowError: there is no such benchmark prompt, or no such version.
    """
    for name in numbers:
        if name not in MEASURING:
            raise HedgerowError(
                f"Expected a prompt of benchmarks ({', '.join(MEASURING)}), found {name[:80]!r}."
            )
    return checked(PromptVersions, numbers)


class Template(NamedTuple):
    """A prompt; ``version`` is None if it is not from a project."""

    text: str
    version: int | None = None


class Wording(NamedTuple):
    """The templates of the prompts."""

    relevance: Template
    similarity: Template
    paraphrase_choice: Template

    def template(self, name: MeasuringName) -> Template:
        """The template of a prompt."""
        return getattr(self, name)

    @property
    def named(self) -> dict[MeasuringName, Template]:
        """All templates by name."""
        return {name: self.template(name) for name in MEASURING}

    @property
    def edited(self) -> dict[str, int | None]:
        """The version of each prompt that differs from the installed one."""
        return {
            name: template.version
            for name, template in self.named.items()
            if template.text != built_in(name)
        }

    @property
    def digest(self) -> str:
        """The key of results with edited prompts; '' for the installed prompts."""
        if not self.edited:
            return ""
        texts = "\0".join(f"{n}\0{t.text}" for n, t in self.named.items() if n in self.edited)
        return hashlib.sha256(texts.encode()).hexdigest()[:8]


@cache
def installed() -> Wording:
    """HedgeTriple's prompts, and our own for three sentences."""
    return Wording(*(Template(built_in(name)) for name in MEASURING))


def wording_of(session: Session, versions: PromptVersions) -> Wording:
    """The templates of these versions; the installed ones if nothing is stored.

    Raises:
        HedgerowError: there is no such version.
    """
    numbers = versions.resolved(session).model_dump()
    found = {
        name: find_version(session, name, number)
        for name, number in numbers.items()
        if number is not None
    }
    stored = {name: Template(row.template, row.version) for name, row in found.items()}
    return installed()._replace(**stored)


def prompt_for(questions: Sequence[Question], *, asks: Asks, paraphrases: bool) -> MeasuringName:
    """The prompt for these questions.

    Args:
        paraphrases: as in `Benchmark.paraphrases`.
    """
    counts = {len(question.candidates) for question in questions}
    if asks == "relevance" and counts == {CHOICES["relevance"]}:
        return "relevance"
    if paraphrases and counts == {CHOICES["paraphrase_choice"]}:
        return "paraphrase_choice"
    return "similarity"


def filled(name: MeasuringName, template: str, text: str, candidates: tuple[str, ...]) -> str:
    """The prompt with these texts filled in.

    Args:
        text: the query or sentence that candidates are compared with.
        candidates: in display order; for `similarity`, a single one.
    """
    values = dict(zip(_POSITIONS, candidates, strict=False))
    if name == "similarity":
        values = {"{first}": text, "{second}": candidates[0]}
    else:
        values[_TEXT[name]] = text
    return put_in(template, values)


def letters_of_words(name: MeasuringName, template: str) -> int:
    """The number of characters of a template without its placeholders. Each occurs once."""
    return len(template) - sum(map(len, PLACES[name]))
