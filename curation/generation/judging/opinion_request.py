"""Second opinions: the request of a run, the question to a model, and parsing of its answer.

Parsing never raises: a model may answer anything, and an answer without a verdict is ignored.
"""

import math
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator
from sqlalchemy.orm import Session

from curation.content_uids import canonical
from curation.decisions.reviewers import get_reviewer
from curation.diagnostics.opinions import judge_name
from curation.generation.answer_texts import text_of
from curation.generation.answers import Answer, read_answer
from curation.generation.prompts import JUDGE, prompt_versions, put_in
from curation.generation.request import ModelRequest
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.reject_reasons import REJECT_REASONS
from curation.taxonomy.surface_check import ROLES
from db.errors import HedgerowError
from db.models import PromptVersion, Reviewer, Status, Verdict

KIND = "judge"
"""The kind of these runs."""

MAX_REPEATS = 20


class JudgeSelection(BaseModel):
    """The variants of a run, except those that this judge has already judged.

    Attributes:
        types: ids of variant types; empty for all.
        status: only variants with this status; None for all except superseded variants.
        flagged: only flagged variants.
        limit: maximum number of variants, in the queue's random order; None for all.
        variants: uids; empty for all variants that meet the other conditions.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    types: tuple[str, ...] = ()
    status: Status | None = Status.PENDING
    flagged: bool = False
    limit: int | None = Field(default=None, ge=1)
    variants: tuple[str, ...] = Field(default=(), max_length=10_000)


class JudgeRequest(ModelRequest):
    """All parameters of a run for opinions, except the API key.

    Attributes:
        prompt: number of the prompt version (``PromptVersion.id``); None for the newest.
        repeats: how often to ask about every variant, to see how far the model agrees with itself.
            The answers are stored but don't count as opinions. 0 asks for opinions.
    """

    temperature: float | None = Field(default=0.0, ge=0, le=2)
    max_tokens: int = Field(default=500, ge=16, le=32_000)
    prompt: int | None = None
    repeats: int = Field(default=0, ge=0, le=MAX_REPEATS)
    selection: JudgeSelection = JudgeSelection()

    @model_validator(mode="after")
    def _repeats_can_differ(self) -> Self:
        if self.repeats == 1:
            raise ValueError("expected at least 2 answers for each variant")
        if self.repeats and self.temperature == 0:
            raise ValueError(
                "expected a temperature above 0 for repeated calls, since answers cannot "
                "differ otherwise"
            )
        return self


def prompt_of(session: Session, request: JudgeRequest) -> PromptVersion | None:
    """Return the prompt that a request names, or the newest; None if there is none yet.

    Raises:
        HedgerowError: the request names a version that is not a prompt for opinions.
    """
    versions = prompt_versions(session, JUDGE)
    if request.prompt is None:
        return versions[0] if versions else None
    found = next((row for row in versions if row.id == request.prompt), None)
    if found is None:
        raise HedgerowError(
            f"Expected a prompt for opinions, found no version {request.prompt}; choose another "
            "version."
        )
    return found


def judge_of(session: Session, request: JudgeRequest) -> Reviewer | None:
    """Return the reviewer for a request's model; None if it has not judged anything yet."""
    prompt = prompt_of(session, request)
    return get_reviewer(session, judge_name(request.model, prompt.version)) if prompt else None


MAX_COMMENT = 1000
"""Maximum characters of a comment; longer ones are cut off."""

NO_REASON = "none"
OTHER = "other"

_PARTS = {name: name for name in ("comment", "verdict", "reason", "suggestion", "certainty")}
_WORD = r"(accept|reject|edit)(?:ed)?\b"
_FIRST_WORD = re.compile(
    rf"\W*{_WORD}(?!\s*[/?]|\W+(?:or|would|could|should|might|may|if|unless|only|after|with|but)\b)",
    re.IGNORECASE,
)
_ANOTHER = re.compile(rf"(?:[.:;,!?/→>\n]|\bor\b)\W*{_WORD}", re.IGNORECASE)
_CORRECTED = re.compile(
    rf"\b(?:wait|actually|on (?:reflection|second thought)|my mind|correction)\b.*\b{_WORD}",
    re.IGNORECASE | re.DOTALL,
)
_CERTAINTY = re.compile(r"\D*?(?<![-–−\w.,])(\d+(?:[.,]\d+)?|[.,]\d+)\s*(%|per ?cent)?(?!\w)\D*")
_REASONS = {
    name.lower(): reason.id for reason in REJECT_REASONS for name in (reason.id, reason.label)
}


class Judgement(NamedTuple):
    """A model's opinion of a variant.

    Attributes:
        verdict: accept, reject or edit; an edit always has a suggestion.
        reason: id of a reject reason; '' for accept.
        suggestion: the changed variant, canonical; '' for none.
        certainty: in [0, 1]; None if the model gave none.
    """

    verdict: Verdict
    reason: str
    comment: str
    suggestion: str
    certainty: float | None


def question(
    template: str, *, anchor: str, variant: str, entry: VariantType, cue: str | None
) -> str:
    """Return the prompt for one variant."""
    return put_in(
        template,
        {
            "{text}": anchor,
            "{variant}": variant,
            "{type}": _described(entry, cue),
            "{guideline}": entry.guideline,
            "{reasons}": "\n".join(
                f"{reason.id}: {reason.explanation}"
                for reason in REJECT_REASONS
                if reason.applies_to(entry)
            ),
        },
    )


def _described(entry: VariantType, cue: str | None) -> str:
    asked = f" The requested hedge cue: {cue}." if cue and entry.needs_cue else ""
    does = ROLES[entry.role].does.replace("anchor", "text")  # as the prompt calls it
    return (
        f"{entry.label}. It is correct if it {does}. {entry.definition} For example: "
        f"{entry.example_anchor} → {entry.example}{asked}"
    )


def judgement_model() -> type[BaseModel]:
    """Return the schema for answers with structured outputs."""
    # Literal instead of an enum: some servers don't support references in a schema.
    reasons = Literal[(NO_REASON, *(reason.id for reason in REJECT_REASONS))]  # type: ignore[valid-type]  # mypy takes only written-out ones
    fields: dict[str, Any] = {
        "comment": (str, Field(description="One sentence that says why.")),
        "verdict": (Literal["accept", "edit", "reject"], Field(description="The verdict.")),
        "reason": (reasons, Field(description="Why not as it stands; none for accept.")),
        "suggestion": (str, Field(description="The changed variant for edit; else empty.")),
        "certainty": (float, Field(description="From 0 (a guess) to 1 (certain).")),
    }
    return create_model("Judgement", __config__=ConfigDict(extra="forbid"), **fields)


def read_judgement(raw: str, *, variant: str, anchor: str) -> Judgement | None:
    """Return the opinion in an answer; see `judgement_in`."""
    return judgement_in(parts_of(raw), variant=variant, anchor=anchor)


def parts_of(raw: str) -> Answer:
    """Return a judge's answer with its verdict, comment and so on."""
    return read_answer(raw, _PARTS)


def judgement_in(answer: Answer, *, variant: str, anchor: str) -> Judgement | None:
    """Return the opinion in an answer: JSON, labelled lines, or a verdict as its first word.

    If a model rejects without a known reason, the reason is 'other'. An edit without a usable
    suggestion, or whose suggestion is the variant or the anchor itself, counts as a rejection.

    Args:
        variant: the judged text.
        anchor: the text that it was made from.

    Returns:
        None if the answer has no verdict, or several.
    """
    values = answer.parts
    if not answer.is_json and "verdict" not in values:
        values = _with_first_word(answer.text) | values
    verdict = _verdict(values)
    if verdict is None:
        return None
    after = answer.text.rpartition(values["verdict"])[2]
    if not answer.is_json and _CORRECTED.search(after):
        return None
    suggestion = "" if verdict is Verdict.ACCEPT else _suggestion(values, variant, anchor)
    if verdict is Verdict.EDIT and not suggestion:
        verdict = Verdict.REJECT
    given = values.get("reason")
    named = given.strip().strip("\"'*_`.").strip() if isinstance(given, str) else ""
    reason = "" if verdict is Verdict.ACCEPT else _REASONS.get(named.lower(), OTHER)
    return Judgement(verdict, reason, _comment(values), suggestion, _certainty(values))


def _verdict(values: Mapping[str, Any]) -> Verdict | None:
    """Return the verdict at the beginning of a text, unless it is a condition or names another."""
    text = values.get("verdict")
    first = _FIRST_WORD.match(text) if isinstance(text, str) else None
    if first is None or {*map(str.lower, _ANOTHER.findall(first.string))} - {first[1].lower()}:
        return None
    return Verdict(first[1].lower())


def _with_first_word(text: str) -> dict[str, Any]:
    """Return a text that starts with a verdict, and the comment after it."""
    first = _FIRST_WORD.match(text)
    if first is None:
        return {}
    rest = text[first.end() :].strip(" \t\n:.,;–—-*_")
    return {"comment": rest.split("\n\n")[0], "verdict": text}


def _suggestion(values: Mapping[str, Any], variant: str, anchor: str) -> str:
    text = text_of(values.get("suggestion"), anchor=anchor).text
    return "" if text == variant or text.casefold() == anchor.casefold() else text


def _comment(values: Mapping[str, Any]) -> str:
    """Return a comment on one line, cut to its maximum length, without invisible characters."""
    value = values.get("comment")
    if not isinstance(value, str):
        return ""
    shown = (c if c.isprintable() or c.isspace() else " " for c in value[: 4 * MAX_COMMENT])
    text = canonical("".join(shown))
    return text if len(text) <= MAX_COMMENT else f"{text[: MAX_COMMENT - 1]}…"


def _certainty(values: Mapping[str, Any]) -> float | None:
    """Return a share; '90%' and 90 become 0.9. None for anything else, such as 8 (of 10?)."""
    value = values.get("certainty")
    percent = False
    if isinstance(value, str):
        number = _CERTAINTY.fullmatch(value)
        if number is None:
            return None
        value, percent = float(number[1].replace(",", ".")), bool(number[2])
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    share = value / 100 if percent or 10 < value <= 100 else value
    return float(share) if 0 <= share <= 1 else None
