"""Chat models behind a server, which write their answers (HedgeTriple, §5.2)."""

import asyncio
import math
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from curation.generation.answer_texts import Removed
from curation.generation.answers import PASSING, AnswerProblem, read_answer
from curation.generation.providers.chat.client import ChatModel, run_to_end
from curation.generation.providers.chat.completions import CallError, Reply
from curation.generation.providers.chat.retries import (
    FIRST_WAIT,
    Gate,
    doubling,
    problem_of,
)
from db.errors import HedgerowError, RunPaused
from training.benchmarks.scorers.interface import Progress
from training.benchmarks.scorers.prompted.costs import Account, Lines
from training.benchmarks.scorers.prompted.interface import Prompted
from training.benchmarks.scorers.prompted.wording import Wording, installed

# -- answers --------------------------------------------------------------------------------------
#
# Reading a chat model's answer: the text that it chose, or the similarity of two texts.


_PARTS = {
    name: name
    for name in ("answer", "choice", "score", "similarity", "document", "sentence", "number")
}
_NOUN = r"(?:document|doc|option|sentence|text|one)"
_CALLED = rf"(?:the |{_NOUN} )*"
_AFTER = r"\b(?:answer|score|similarity)\b(?:(?!\bnot\b|n['’]t\b)[^\d+−–-]){0,40}?"
_OR = rf"(?:\s*(?:or|and|to|/|&|,|→)\s*|[-–]){_CALLED}"
_LIST = r"\W*1[.)]\s.*\n[ *_]*2[.)]\s"

_ORDINALS = {"first": "1", "second": "2", "third": "3", "one": "1", "two": "2", "three": "3"}
_ORDINAL = re.compile(
    rf"\b(first|second|third)(?= {_NOUN}\b(?! of\b))|(?<=document )(one|two|three)\b"
    r"|(?<=sentence )(one|two|three)\b|\A\W*(?:the )?(first|second|third|one|two|three)\W*\Z",
    re.IGNORECASE,
)
_DESCRIBED = rf"\W*(?:the )?{_NOUN} \d\b[ :]+\w(?![^.\n]*\b(?:more|most|better|best|means)\b)"
_DENIED = re.compile(
    r"\b(?:not|neither|nor|less|least|irrelevant|unrelated|cannot)\b|n['’]t\b", re.IGNORECASE
)

_NUMBER = r"(?<![\w.])[-+−–]?(?:\d+(?:\.\d+)?|\.\d+)(?!\w|\.\d|\s*(?:%|percent|/|out of|of \d))"
_SCALE = re.compile(
    r"[-−–]1(?:\.0+)?\s*(?:to|and|[-–—,]|\.\.+)\s*\+?1(?:\.0+)?(?!\w|\.\d)"
    r"|(?<=\d)\s*(?:/|out of)\s*1(?:\.0+)?(?!\w|\.\d)"
)
_COMMA = re.compile(r"(?<![\d.,])([01]),(?=\d+(?![\d.,]))")
_MINUS = re.compile(r"\b(?:minus|negative)\s+(?=[\d.])", re.IGNORECASE)


class Reading(NamedTuple):
    """The number in an answer, or why there is none; and what was removed from the answer."""

    value: float | None
    problem: AnswerProblem | None
    removed: tuple[Removed, ...]


def read_choice(raw: str, *, choices: int = 2) -> Reading:
    """A number from 1 to `choices`: at the beginning, after 'answer', or the only one in an answer.

    None if the answer names no number or several, or only describes or rejects what it names.
    """
    text, none = _text(raw)
    text = _ORDINAL.sub(lambda word: _ORDINALS[next(filter(None, word.groups())).lower()], text)
    number = rf"(?<![\w.])[1-{choices}](?!\w|\.\d)"
    first = rf"(?!{_LIST}|{_DESCRIBED})\W*{_CALLED}#?"
    return _only(text, none, number, first=first, anywhere=not _DENIED.search(text))


def read_score(raw: str) -> Reading:
    """A number from -1 to 1: at an answer's beginning, after 'score', or the only one in it.

    None if there is no number, or if it is out of range.
    """
    text, none = _text(raw)
    text = _MINUS.sub("-", _COMMA.sub(r"\1.", _SCALE.sub("", text)))
    found = _only(text, none, _NUMBER, first=rf"(?!{_LIST})[\s*_`'\"(]*")
    return found if found.value is None or -1.0 <= found.value <= 1.0 else none


def _text(raw: str) -> tuple[str, Reading]:
    """The text to search for a number, and the result if it has none."""
    answer = read_answer(raw, _PARTS)
    values = list(answer.parts.values())
    text = answer.text
    if answer.is_json:
        text = str(values[0]) if len(values) == 1 else ""
    return text, Reading(None, answer.problem, answer.removed)


def _only(text: str, none: Reading, number: str, *, first: str, anywhere: bool = True) -> Reading:
    """The number at the beginning and after certain words, or else the only one anywhere."""
    flags = re.IGNORECASE | re.DOTALL
    found = [m[1] for m in [re.match(f"{first}({number})", text, flags)] if m]
    found += re.findall(f"{_AFTER}({number})", text, flags)
    if not found and anywhere:
        found = re.findall(number, text)
    named = {float(re.sub("[−–]", "-", one)) for one in found}
    if len(named) != 1 or re.search(
        rf"(?<![\w.])({re.escape(found[0])}){_OR}(?!\1){number}", text, flags
    ):
        return none
    return none._replace(value=named.pop(), problem=None)


ATTEMPTS = 5
"""Attempts per prompt if the server has a temporary problem; `ASKED_TWICE` if it gives unusable
answers."""

ASKED_TWICE = 2

IN_A_ROW = 10
"""Number of consecutive refusals after which no more prompts are sent."""

CHECK_SECONDS = 1.0
"""Seconds between two checks for a cancel while a prompt waits."""

Read = Callable[[str], Reading]
Found = TypeVar("Found")


@dataclass
class Chat(Prompted):
    """Asks for the number of a text, or for a similarity, and reads the model's answer.

    The model chooses once for each order of the candidates, and a candidate's score is the share of
    the answers that name it. If the answers for two documents disagree, the result is a tie, so a
    model that always says '1' gains nothing. The paper does not state its order.

    Attributes:
        model: should have temperature 0, and a high `max_tokens` if it writes its reasoning first.
        at_once: the maximum number of prompts in progress.
        memory: a file for all usable answers of one model, so that a later attempt does not pay for
            them again; or None.
        account: records the cost of the answers; None to record nothing.
        asked: the number of prompts sent, without those answered from the memory.
        prompts, unanswered: the number of distinct prompts, and of those without a usable answer.
    """

    model: ChatModel
    at_once: int = 8
    first_wait: float = FIRST_WAIT
    memory: Path | None = None
    account: Account | None = None
    wording: Wording = field(default_factory=installed)
    asked: int = 0
    prompts: int = 0
    unanswered: int = 0
    _at_once: int = field(default=1, init=False, repr=False)
    _refusals: int = field(default=0, init=False, repr=False)
    _gate: Gate = field(default_factory=Gate, init=False, repr=False)
    _check_cancel: Callable[[], None] = field(default=lambda: None, init=False, repr=False)
    _stopped: RunPaused | None = field(default=None, init=False, repr=False)
    _memory: Lines | None = field(default=None, init=False, repr=False)
    _readings: list[Reading] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        self._memory = Lines(self.memory) if self.memory is not None else None

    architecture = "chat"
    takes = "name"

    def rated(self, prompts: Sequence[str], *, on_progress: Progress | None = None) -> np.ndarray:
        """The numbers that the model writes.

        Raises:
            HedgerowError: the server refuses the key, the model or the prompts.
            RunPaused: the budget is spent, the server gives no answer, or the disk is full.
        """
        return np.array(self._asked(prompts, read_score, on_progress), dtype=np.float64)

    def chosen(
        self, prompts: Sequence[str], choices: int, *, on_progress: Progress | None = None
    ) -> np.ndarray:
        """1 for the position that the model names, 0 for the others.

        Raises:
            HedgerowError, RunPaused: as in `rated`.
        """
        read = partial(read_choice, choices=choices)
        named = np.array(self._asked(prompts, read, on_progress), dtype=np.float64)[:, None]
        one = (named == np.arange(1, choices + 1)).astype(np.float64)
        return np.where(np.isnan(named), math.nan, one)

    def _asked(
        self, prompts: Sequence[str], read: Read, on_progress: Progress | None
    ) -> list[float]:
        """The value of the answer to each prompt; NaN if the answer has none."""
        self._readings = run_to_end(self._all(prompts, read, on_progress))
        found = [math.nan if one.value is None else one.value for one in self._readings]
        self.prompts += len(prompts)
        self.unanswered += sum(map(math.isnan, found))
        return found

    def report(self) -> dict[str, Any]:
        """As in `Prompted`, with what was removed from how many answers, and why some prompts have
        none."""
        removed = Counter(kind for one in self._readings for kind in one.removed)
        problems = Counter(one.problem for one in self._readings if one.problem)
        return super().report() | {
            "removed": dict(removed.most_common()),
            "problems": dict(problems.most_common()),
        }

    async def _all(
        self, prompts: Sequence[str], read: Read, on_progress: Progress | None
    ) -> list[Reading]:
        model = replace(self.model)  # a connection belongs to its event loop
        room = asyncio.Semaphore(self.at_once)
        known = self._remembered()
        done = 0
        self._at_once = min(self.at_once, len(prompts))
        self._gate.until = 0.0  # measured with the clock of a finished event loop
        if self.account:
            self.account.begin()

        def check_cancel() -> None:
            if on_progress:
                on_progress(done, len(prompts))

        async def one(prompt: str) -> Reading:
            nonlocal done
            if (found := known.get(_digest(prompt))) is None:
                async with room:
                    found = await self._one(model, prompt, read)
                self.asked += 1
                self._remember(prompt, found)
            done += 1
            check_cancel()
            return found

        self._check_cancel, self._stopped = check_cancel, None
        try:
            found = await _together([one(prompt) for prompt in prompts])
        finally:
            await model.close()
            self._rescue()
        if self._stopped is not None:
            raise self._stopped
        return found

    def _remembered(self) -> dict[str, Reading]:
        """The answers in the file, by prompt. A line that a crash cut off is skipped."""
        found: dict[str, Reading] = {}
        for line in self._memory.read() if self._memory else []:
            with suppress(ValueError):
                prompt, value, *removed = line.split("\t")
                if removed and not removed.pop():
                    kinds = tuple(map(Removed, removed))
                    found[prompt] = Reading(float(value), None, kinds)
        return found

    def _remember(self, prompt: str, found: Reading) -> None:
        if self._memory is not None and found.value is not None:
            parts = (_digest(prompt), repr(found.value), *found.removed, "")
            self._memory.add("\t".join(parts))

    @property
    def _files(self) -> list[Lines]:
        files = [self._memory, self.account.lines if self.account else None]
        return [lines for lines in files if lines is not None]

    def _should_stop(self) -> bool:
        """Whether to send no more prompts. Answers in progress are still awaited and stored."""
        return self._stopped is not None or any(lines.problem for lines in self._files)

    def _rescue(self) -> None:
        """Save the answers that did not fit on the disk somewhere else.

        Raises:
            RunPaused: always; its message says where the answers are, or that they are lost.
        """
        problem = next((lines.problem for lines in self._files if lines.problem), None)
        if problem is None:
            return
        kinds = zip(("answers", "costs"), self._files, strict=False)
        what = ", ".join(f"{len(lines.waiting):,} {kind}" for kind, lines in kinds)
        try:
            kept = [str(path) for lines in self._files if (path := lines.rescue())]
            where = f"is kept in {' and '.join(kept)} and will be stored when the run continues"
            note = f" What could not be stored ({what}) {where}." if kept else ""
        except OSError:
            note = f" What could not be stored ({what}) is lost: no folder has space for it."
        raise RunPaused(
            f"Paused: {problem.strerror} ({problem.filename}).{note} Free some disk space."
        )

    async def _one(self, model: ChatModel, prompt: str, read: Read) -> Reading:
        """Ask one prompt, and retry if that may help."""
        usable, tries, answers = 0, 0, self._gate.answers
        found = Reading(None, None, ())
        while not self._should_stop():
            await self._wait(self._gate.left())
            tries += 1
            try:
                reply = await self._sent(model, prompt)
            except CallError as error:
                self._gate.failed(error)
                found = Reading(None, error.problem, ())
                if why := self._gate.why_pause(at_once=self._at_once, attempts=ATTEMPTS):
                    self._stopped = RunPaused(why)
                if error.problem not in PASSING:
                    self._count_refusal(error)
                    return found
                if self._gate.gives_up(error, answers=answers, tries=tries, most=ATTEMPTS):
                    return found
                if error.retry_after is not None:
                    self._gate.close_for(error.retry_after)
                else:
                    await self._wait(doubling(self.first_wait, tries))
                continue
            self._gate.answered()
            self._refusals = 0
            found = read(reply.raw)
            usable += 1
            if found.value is not None:
                return found
            found = found._replace(problem=problem_of(reply) or found.problem)
            if usable == ASKED_TWICE:
                return found
        return found

    async def _wait(self, seconds: float) -> None:
        """Sleep, and check every now and then whether the run should stop."""
        while seconds > CHECK_SECONDS and not self._should_stop():
            await asyncio.sleep(CHECK_SECONDS)
            seconds -= CHECK_SECONDS
            self._check_cancel()
        await asyncio.sleep(min(max(seconds, 0.0), CHECK_SECONDS))

    async def _sent(self, model: ChatModel, prompt: str) -> Reply:
        """Make one attempt as soon as the budget allows it, and record its cost in any case."""
        if self.account is None:
            return await model.ask(prompt, None)
        await self.account.may_ask()
        reply = None
        try:
            reply = await model.ask(prompt, None)
        except CallError as error:
            reply = error.reply
            raise
        finally:
            self.account.book(reply)
        return reply

    def _count_refusal(self, error: CallError) -> None:
        self._refusals += 1
        if self._refusals >= IN_A_ROW:
            raise HedgerowError(
                f"{self.model.where} refused {IN_A_ROW} prompts in a row "
                f"({self.model.without_key(str(error))[:200]}); check the model and run the "
                "benchmark again."
            )


def _digest(prompt: str) -> str:
    return sha256(prompt.encode()).hexdigest()


async def _together(work: Sequence[Awaitable[Found]]) -> list[Found]:
    """The results of all tasks. The first error cancels the others."""
    tasks = [asyncio.ensure_future(part) for part in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
