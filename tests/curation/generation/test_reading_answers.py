"""Reading a server's replies, whatever they contain: texts, verdicts, token counts and waits."""

import asyncio
import json
import math
import re
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.corpora.corpus import STARTER
from curation.generation.answer_texts import Removed
from curation.generation.answers import AnswerProblem, answer_model, parse_answer
from curation.generation.judging.opinion_request import (
    MAX_COMMENT,
    judgement_model,
    question,
    read_judgement,
)
from curation.generation.prompts import JUDGE, built_in, checked_template, types_of
from curation.generation.providers.chat.client import response_format
from curation.generation.providers.chat.completions import (
    OWN_ADDRESS,
    SLACK,
    CallError,
    Reply,
    address_of,
    is_own,
    key_for,
    read_completion,
    read_json,
    retry_after,
    with_trusted_tokens,
)
from curation.generation.providers.chat.connections import BadBody, bounded
from curation.generation.run import chat_model, checked_request
from curation.taxonomy.built_in import TAXONOMY, variant_type
from curation.taxonomy.reject_reasons import REJECT_REASONS
from curation.taxonomy.surface_check import ROLES
from db.errors import HedgerowError
from db.models import Verdict
from db.settings import Settings
from training.benchmarks.scorers.prompted.chat import Reading, read_choice, read_score

NEGATIONS = types_of("negation", TAXONOMY)
HEDGES = types_of("hedge", TAXONOMY)
ANCHOR = "The bridge is safe."
TEXTS = {
    "verbal": "The bridge is not safe.",
    "absolute": "No part of the bridge is safe.",
    "affixal": "The bridge is unsafe.",
    "lexical": "The bridge is dangerous.",
}


def parse(raw: str, types=NEGATIONS, cues=None):
    return parse_answer(raw, types=types, anchor=ANCHOR, cues=cues or {})


@pytest.mark.parametrize(
    "line",
    [
        '{n}. "{id}": {text}',
        "{n}. {id}: {text}",
        "{n}) **{id}**: {text}",
        '{n}. "{label}": "{text}"',
        "- {id} – {text}",
        '"{id}": {text}',
        '"{id}": "{text}",',
        "{n}. “{id}”: “{text}”",
        '   {n}.    "{id}":\n      {text}',
        "### {label}\n\n{text}",
        "| {id} | {text} |",
        "{n}. {id} ({label}): {text}",
        "({n}) {id}: {text}",
        "**{n}.** {id}: {text}",
        "{n}\ufe0f\u20e3 **{label}**: {text}",
        "a) {label}: {text}",
        "[{label}] {text}",
        "For {id}: {text}",
        "{id}\t{text}",
        "{n}. {text} ({id})",
        "{n}. Negation ({id}): {text}",
        "**{label}:**\n\n{text}\n",
        "| {n} | {label} | {text} | It uses a word. |",
        "| {id} | The verb is negated | {anchor} | {text} |",
        "<{id}>{text}</{id}>",
        "<{id}>\n  {text}\n</{id}>",
    ],
)
def test_a_list_is_read_however_it_is_set(line: str) -> None:
    for order in (NEGATIONS, NEGATIONS[::-1]):
        raw = "\n".join(
            line.format(n=n, id=entry.id, label=entry.label, anchor=ANCHOR, text=TEXTS[entry.id])
            for n, entry in enumerate(order, 1)
        )
        assert parse(raw)[:2] == (TEXTS, ())
        assert parse("Modified text:\n" + raw + "\n\nI hope this helps!").texts == TEXTS


def test_a_list_without_names_has_the_order_of_the_prompt() -> None:
    lines = [f"{n}. {text}" for n, text in enumerate(TEXTS.values(), 1)]
    assert parse("Here you are!\n" + "\n".join(lines)).texts == TEXTS
    steps = "1. Find the verb of 'The bridge is safe.'\n2. Negate it.\n3. Affix.\n4. Antonym."
    for other in ("\n".join(lines[:3]), "\n".join([*lines, "5. It isn't."]), steps, NOT):
        assert parse(other).texts == {}
    for one in (NOT, f"Modified text: {NOT}", f"Sure!\n\n**{NOT}**\n\nLet me know."):
        assert parse(one, NEGATIONS[:1]).texts == {"verbal": NOT}
    for other in (f"{NOT}\nThe bridge isn't safe.", "I can't do that.", "Here you are!"):
        assert parse(other, NEGATIONS[:1]).texts == {}


PLAIN = json.dumps(TEXTS)
# As a model wrote it.
TRAILING_COMMA = """{
  "verbal": "The bridge is not safe.",
  "absolute": "In no way is the bridge safe.",
}"""


@pytest.mark.parametrize(
    "raw",
    [
        PLAIN,
        f"```json\n{PLAIN}\n```",
        f"```\n{PLAIN}",
        f"Here is the JSON:\n```json\n{PLAIN}\n```\nLet me know if you need more.",
        f"Here is the JSON: {PLAIN}",
        json.dumps(TEXTS | {"extra": 1}),
        json.dumps([{"variants": TEXTS}]),
        json.dumps(TEXTS, indent=1).replace('."', '.", // negated').replace(",,", ",") + "\n",
        PLAIN[:-1] + ",}",
        str(TEXTS),
        "\n".join(json.dumps({key: text}) for key, text in TEXTS.items()),
        json.dumps({f"{n}. {key}_negation": text for n, (key, text) in enumerate(TEXTS.items())}),
        json.dumps({entry.label: TEXTS[entry.id] for entry in NEGATIONS}),
        json.dumps([{"type": key, "text": text, "why": "So."} for key, text in TEXTS.items()]),
        json.dumps({"variants": [{"name": k, "modified_text": v} for k, v in TEXTS.items()]}),
        json.dumps({key: {"sentence": text, "cue": "not"} for key, text in TEXTS.items()}),
        json.dumps({ANCHOR: {key: [text] for key, text in TEXTS.items()}}),
        "\n".join(json.dumps({"type": k, "original": ANCHOR, "text": v}) for k, v in TEXTS.items()),
        "{" + ", ".join(f"“{key}”: “{text}”" for key, text in TEXTS.items()) + "}",
        f"```python\nvariants = {TEXTS}\n```",
        f"<tool_call>Variants({PLAIN})</tool_call>",
    ],
)
def test_json_is_read_with_its_usual_mistakes(raw: str) -> None:
    assert parse(raw.replace('negated"', "negated")).texts == TEXTS


@pytest.mark.parametrize(
    "raw",
    [
        TRAILING_COMMA[:-6],
        TRAILING_COMMA.replace('",', '"'),
        f"Sure!\n\n{TRAILING_COMMA[:-3]}",
        TRAILING_COMMA.replace('"verbal": "', '"verbal": '),
        '{"verbal": {}}',
        '{"verbal": ["It is not.", "It isn\'t."]}',
        '{"type": "verbal", "text": "It is safe.", "variant": "It is not."}',
        json.dumps(list(TEXTS.values())),
        "{" * 5000,
        "{",
        "[]",
        "null",
        "1.",
        "I can't do that.",
    ],
)
def test_broken_json_is_unreadable_and_never_a_list(raw: str) -> None:
    assert parse(raw) == ({}, (AnswerProblem.UNREADABLE,), ())


NOT = TEXTS["verbal"]


@pytest.mark.parametrize(
    ("line", "removed"),
    [
        (f"{NOT} (This negates the verb.)", Removed.EXPLANATION),
        ("The bridge is not safe (the verb is negated).", Removed.EXPLANATION),
        (f"{NOT} [verbal negation]", Removed.EXPLANATION),
        (f"{NOT} – This negates the verb", Removed.EXPLANATION),
        (f"{NOT} - replaces “is” with “is not”", Removed.EXPLANATION),
        (f"{NOT} Explanation: “not” negates the verb.", Removed.EXPLANATION),
        (f"{NOT} // verb negated", Removed.EXPLANATION),
        (f"{NOT} Here, the verb is negated.", Removed.EXPLANATION),
        (f"{NOT} ({ANCHOR} → {NOT})", Removed.EXPLANATION),
        (f"{NOT} The word 'not' negates the verb.", Removed.EXPLANATION),
        (f"{NOT} — negation of the verb 'is'", Removed.EXPLANATION),
        (f"{NOT} (original: {ANCHOR})", Removed.EXPLANATION),
        (f"Sure! {NOT}", Removed.OTHER_TEXT),
        (f'Here is the negated sentence: "{NOT}"', Removed.OTHER_TEXT),
        (f"Verbal negation: {NOT}", Removed.OTHER_TEXT),
        (f"(verbal) {NOT}", Removed.OTHER_TEXT),
        (f"Variant 1: {NOT}", Removed.OTHER_TEXT),
        (f"✅ {NOT}", Removed.MARKUP),
        ("The bridge is ~~safe~~ not safe.", Removed.MARKUP),
        ("The bridge is <del>safe</del> not safe.", Removed.MARKUP),
        ("The bridge is not safe\\.", Removed.MARKUP),
        (f"&quot;{NOT}&quot;", Removed.MARKUP),
        (f"({NOT})", Removed.QUOTES),
        (f"{ANCHOR} | {NOT}", Removed.MARKUP),
        (f"{NOT} Let me know if you need more!", Removed.OTHER_TEXT),
        (f"{NOT}\nLet me know if you need more!", Removed.OTHER_TEXT),
        (f"Modified text: {NOT}", Removed.OTHER_TEXT),
        (f"**{NOT}**", Removed.MARKUP),
        ("The bridge is *not* safe.", Removed.MARKUP),
        (f"`{NOT}`", Removed.MARKUP),
        ("The bridge is <b>not</b> safe.", Removed.MARKUP),
        (f"“{NOT}”", Removed.QUOTES),
        (f"„{NOT}“", Removed.QUOTES),
        (f"«{NOT}»", Removed.QUOTES),
        (f"'{NOT}'", Removed.QUOTES),
        ('"The bridge is not safe".', Removed.QUOTES),
        (f"{ANCHOR} → {NOT}", Removed.ANCHOR),
        (f"{ANCHOR} -> {NOT}", Removed.ANCHOR),
        (f"the bridge is safe => {NOT}", Removed.ANCHOR),
        (f"{ANCHOR} {NOT}", Removed.ANCHOR),
        (f"{ANCHOR} / {NOT}", Removed.ANCHOR),
        (f'"{ANCHOR}" → **"{NOT}"** (negated)', Removed.QUOTES),
    ],
)
def test_what_surrounds_a_variant_is_removed_and_named(line: str, removed: Removed) -> None:
    for raw in (f"1. verbal: {line}\n2. absolute: None", json.dumps({"verbal": line})):
        found = parse(raw)
        assert found.texts == {"verbal": NOT}
        assert removed in found.removed or "\n" in line


@pytest.mark.parametrize(
    "line",
    [
        *("N/A", "None", "None possible.", "-", "—", "…", "(none)", "Not applicable", "*n/a*", ""),
        "None possible, since 'safe' has no such affix.",
        "No affixal negation is possible.",
        "[No natural variant]",
        "There is no affixal form of this verb.",
        "This sentence cannot be negated with an affix.",
        "I'm sorry, but I can't do that.",
        "I cannot negate 'The bridge is safe.'",
        "There is no affixal negation of “The bridge is safe”.",
        "Unable to generate",
        "(same as above)",
        "TBD",
    ],
)
def test_a_placeholder_is_a_missing_type(line: str) -> None:
    lines = f"1. verbal: {line}\n2. absolute: {NOT}"
    for raw in (lines, json.dumps({"verbal": line, "absolute": NOT})):
        found = parse(raw, NEGATIONS[:2])
        assert found.texts == {"absolute": NOT}
        assert found.problems == (AnswerProblem.MISSING_TYPE,)
        assert Removed.PLACEHOLDER in found.removed


@pytest.mark.parametrize(
    ("anchor", "text"),
    [
        (ANCHOR, "The bridge is safe (perhaps)."),
        (ANCHOR, "The bridge is safe. (I think.)"),
        (ANCHOR, "The bridge is – or so I think – safe."),
        (ANCHOR, "The bridge is safe - or so they say."),
        (ANCHOR, "The bridge is safe. Or is it?"),
        (ANCHOR, "None of the bridge is safe."),
        (ANCHOR, "Nothing about it is safe."),
        (ANCHOR, 'The bridge is anything but "safe".'),
        ("A bridge is possible.", "No bridge is possible."),
        ("A change is required.", "No change is required."),
        ("I am able to swim.", "I'm not able to swim."),
        ("The on/off switch works.", "The on/off switch does not work."),
        ("The rule holds: it is safe.", "The rule does not hold: it is safe."),
        ("AT&T paid [sic].", "AT&T did not pay [sic]."),
        (ANCHOR, "(Perhaps) the bridge is safe (enough)."),
        ("The bridge (built in 1910) is safe.", "The bridge (built in 1910) is not safe."),
        ("It rains. (It is May.)", "It does not rain. (It is May.)"),
        ('"Stop," he said, "now."', '"Stop," he did not say, "now."'),
        ('"It works."', '"It doesn\'t work."'),
        ("He said “yes”.", "He did not say “yes”."),
        ("She went home – The Times was right.", "She never went home – The Times was right."),
        ("a -> b holds.", "a -> b does not hold."),
        ("The *p* value is low.", "The *p* value is not low."),
        ("The dogs' bowl is full.", "The dogs' bowl isn't full."),
    ],
)
def test_what_belongs_to_a_sentence_stays(anchor: str, text: str) -> None:
    for raw in (f'1. "verbal": {text}', json.dumps({"verbal": text})):
        assert parse_answer(raw, types=NEGATIONS, anchor=anchor, cues={})[::2] == (
            {"verbal": text},
            (),
        )


@pytest.mark.parametrize(
    "line",
    [
        f"{NOT} / The bridge isn't safe.",
        f"{NOT} or The bridge isn't safe.",
        f'"{NOT}" or "The bridge isn\'t safe."',
        f"{NOT}; the bridge isn't safe.",
        f"{NOT} Alternatively, the bridge isn't safe.",
        "The bridge is not/isn't safe.",
        "The bridge is [not] safe.",
        "The bridge is\n   not safe.",
        "[your variant here]",
    ],
)
def test_several_variants_and_parts_of_one_are_none(line: str) -> None:
    found = parse(f"1. verbal: {line}\n2. absolute: {TEXTS['absolute']}", NEGATIONS[:2])
    assert found.texts == {"absolute": TEXTS["absolute"]}
    assert found.problems == (AnswerProblem.MISSING_TYPE,)


def test_what_people_accepted_is_read_as_it_is() -> None:
    families = (STARTER.folder / "families.jsonl").read_text(encoding="utf-8").splitlines()[::20]
    for family in map(json.loads, families):
        texts = {entry.id: family[entry.id] for entry in NEGATIONS if entry.id in family}
        for line in ("{}: {}", "{}: “{}”", '{}: "{}" (This negates the verb.)'):
            raw = "\n".join(line.format(*item) for item in texts.items())
            found = parse_answer(raw, types=NEGATIONS, anchor=family["anchor"], cues={})
            assert found.texts == texts


def test_what_is_missing_or_unfit_is_reported_and_the_rest_is_kept() -> None:
    some = {"verbal": TEXTS["verbal"]}
    assert parse(json.dumps(some)) == (some, (AnswerProblem.MISSING_TYPE,), ())
    assert parse(json.dumps(some | {"absolute": None, "affixal": 3, "lexical": ""})).texts == some
    unchanged = parse(json.dumps(TEXTS | {"verbal": "the bridge is safe."}))
    assert "verbal" not in unchanged.texts and unchanged.problems == (AnswerProblem.UNCHANGED,)
    odd = {"verbal": "a\x1b[31m", "absolute": "long " * 500, "affixal": "Fine."}
    assert parse(json.dumps(odd)).texts == {"affixal": "Fine."}
    twice = json.dumps(TEXTS) + json.dumps(TEXTS | {"verbal": "It isn't."})
    assert "verbal" not in parse(twice).texts, "one of them is a draft"


def test_an_ignored_cue_is_reported_but_not_a_suitable_form_of_it() -> None:
    cues = {"word": "seem", "phrase": "not entirely sure"}
    good = {"word": "The bridge seems safe.", "phrase": "I'm not sure, not entirely sure of it."}
    assert parse(json.dumps(good), HEDGES, cues).problems == ()
    bad = good | {"word": "The bridge is probably safe."}
    assert parse(json.dumps(bad), HEDGES, cues)[:2] == (bad, (AnswerProblem.CUE_IGNORED,))


# -- reasoning, which is no part of anybody's answer ----------------------------------------------

THOUGHTS = [
    "<think>\n{draft}\n</think>\n{answer}",
    "{draft}\n</think>\n\n{answer}",
    "<thinking>{draft}</thinking>{answer}",
    "<REASONING>\n{draft}\n</REASONING>\n{answer}",
    "{draft}\n</reasoning>\n{answer}",
    "< thought >{draft}</ thought >{answer}<think>{draft}",
    "<think>{draft}<think>{draft}</think>{draft}</think>{answer}",
    "[THINK]{draft}[/THINK]{answer}",
    "<|begin_of_thought|>{draft}<|end_of_thought|><|begin_of_solution|>{answer}<|end_of_solution|>",
    "<think>{draft}</think><answer>{answer}</answer>{draft}",
    "<|channel|>analysis<|message|>{draft}<|end|><|start|>assistant<|channel|>final<|message|>{answer}",
    "{draft}<|end|><|start|>assistant<|channel|>final<|message|>{answer}<|return|>",
    "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{draft}<|call|>"
    "<|start|>assistant<|channel|>final<|message|>{answer}",
    "analysisWe try: {draft}assistantfinal{answer}",
    "<plan>{draft}</plan>{answer}",
    "<thought_process>{draft}</thought_process>{answer}",
    "{draft}<response>{answer}</response>",
    "<|START_THINKING|>{draft}<|END_THINKING|><|START_RESPONSE|>{answer}<|END_RESPONSE|>",
    "analysis\n{draft}\nassistantfinal\n{answer}",
    "<|im_start|>think\n{draft}<|im_end|>\n<|im_start|>answer\n{answer}",
]


def assert_read(draft: dict[str, str], answer: dict[str, str], read: Callable[[str], Any]) -> None:
    """Each kind of reasoning leaves the answer, and reasoning alone leaves nothing."""
    for setting in (json.dumps, lambda values: "\n".join(f"{k}: {v}" for k, v in values.items())):
        for thought in THOUGHTS:
            raw = thought.format(draft=setting(draft), answer=setting(answer))
            assert read(raw) == read(setting(answer)) != read(setting(draft)), raw
            only = raw.replace(setting(answer), "")
            assert read(only) == read(""), only


def test_reasoning_is_no_part_of_a_variant() -> None:
    assert_read(TEXTS, {"verbal": "It is not."}, lambda raw: parse(raw)[:2])
    found = parse(
        "<think>\n1. verbal: The lake deep is not, no wait.\n</think>\n1. verbal: It isn't."
    )
    assert found.texts == {"verbal": "It isn't."} and found.removed == (Removed.REASONING,)
    nothing = ({}, (AnswerProblem.EMPTY,), (Removed.REASONING,))
    assert parse("<think>\n1. verbal: It isn't.") == nothing
    assert parse("") == ({}, (AnswerProblem.EMPTY,), ())


def test_a_judges_draft_is_not_its_verdict() -> None:
    draft, verdict = {"verdict": "accept"}, {"verdict": "reject"}
    assert_read(draft, verdict, lambda raw: read_judgement(raw, variant=VARIANT, anchor=ANCHOR))
    for raw in ("Verdict: accept\n\nNo, wait.\nVerdict: reject", '{"verdict": "accept", "comm'):
        assert read_judgement(raw, variant=VARIANT, anchor=ANCHOR) is None


@pytest.mark.parametrize("read", [read_choice, read_score])
def test_a_benchmarks_number_is_not_that_of_a_draft(read: Callable[[str], Reading]) -> None:
    draft = {"answer": "0.5" if read is read_score else "2"}
    assert_read(draft, {"answer": "1"}, lambda raw: read(raw).value)
    assert read("```json\n{'answer': 1,}\n```").value == 1.0
    assert read('{"answer": 1') == (None, AnswerProblem.UNREADABLE, ())
    assert read("<think>1</think>") == (None, AnswerProblem.EMPTY, (Removed.REASONING,))


PIECES = [
    *"{}[]()\"',:|\n\\",
    *"<think> </think> <|channel|> final <|message|> <|end|> ``` json ** // N/A verbal".split(),
    *("1. ", " ", " – ", "→", "absolute: ", "Verdict: reject", ANCHOR, NOT, "This negates", "\0"),
]


@settings(deadline=2000)
@given(
    st.text(max_size=300) | st.lists(st.sampled_from(PIECES), max_size=60).map("".join),
    st.integers(1, 400),
)
def test_no_answer_raises_takes_long_or_makes_a_variant_of_its_syntax(raw: str, times: int) -> None:
    for text in (raw, raw * times, f"1. verbal: {raw}", f'{{"verbal": "{raw}", "absolute": "x"}}'):
        for variant in parse(text).texts.values():
            assert variant and "```" not in variant and "→" not in variant
            assert not re.search(r"</?think>|<\||^[{[]\s*[\"'{]|\"\s*[,}\]]+$", variant)
        found = read_judgement(f"{text}\nCertainty: {raw}", variant=VARIANT, anchor=ANCHOR)
        assert found is None or 0 <= (found.certainty or 0) <= 1
        assert read_choice(text).value in (None, 1, 2)


def test_the_schema_asks_for_every_type_and_nothing_else() -> None:
    for role in ROLES:
        types = types_of(role, TAXONOMY)
        schema = response_format(answer_model(types))["json_schema"]["schema"]
        assert schema["required"] == [entry.id for entry in types]
        assert schema["additionalProperties"] is False


# -- the body of a reply --------------------------------------------------------------------------

NAMES = ("choices", "message", "content", "usage", "prompt_tokens", "refusal")
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(ANY_JSON)
def test_no_body_of_an_answer_is_more_than_an_answer_or_a_problem(body: Any) -> None:
    try:
        reply = read_completion(body)
    except CallError as error:
        assert error.problem is AnswerProblem.SERVER  # noqa: PT017
    else:
        assert isinstance(reply, Reply)
        assert all(isinstance(part, str) for part in (reply.raw, reply.refusal))


@pytest.mark.parametrize("tokens", [-1, 2**31, 10**20, 1.5, "12", None, [3]])
def test_an_impossible_token_count_is_not_stored(tokens: Any) -> None:
    body = {"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": tokens}}
    assert read_completion(body).prompt_tokens is None


def test_a_wait_is_a_number_or_a_date_and_never_too_long() -> None:
    def waiting(header: str) -> float | None:
        return retry_after(httpx2.Response(429, headers={"retry-after": header}))

    assert (waiting("2.5"), waiting("99999999")) == (2.5, 99_999_999)
    soon = datetime.now(UTC) + timedelta(seconds=300)
    assert 200 < (waiting(format_datetime(soon, usegmt=True)) or 0) <= 300
    assert waiting("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert [waiting(header) for header in ("", "soon", "-1", "nan", "inf")] == [None] * 5


@pytest.mark.parametrize(
    ("headers", "found", "pieces"),
    [({}, AnswerProblem.TOO_LONG, 26), ({"content-encoding": "gzip"}, AnswerProblem.SERVER, 0)],
)
def test_no_more_of_an_endless_answer_is_read_than_its_bound_and_nothing_of_a_compressed_one(
    headers: dict[str, str], found: AnswerProblem, pieces: int
) -> None:
    read: list[int] = []

    async def endless() -> AsyncIterator[bytes]:
        while True:
            read.append(1000)
            yield b"x" * 1000

    async def ask() -> None:
        request = httpx2.Request("POST", "http://127.0.0.1/v1/chat/completions")
        reply = httpx2.Response(200, content=endless(), request=request, headers=headers)
        await bounded(25_000, "/chat/completions")(reply)
        await reply.aread()

    with pytest.raises(BadBody) as error:
        asyncio.run(ask())
    assert error.value.problem is found and len(read) == pieces
    assert len(error.value.head) == (25_000 if pieces else 0)


# -- token counts that a budget can rely on -------------------------------------------------------

PROMPT = "Write a negation of this text. " * 20
ANSWER = "The bridge over the river is not safe in winter. " * 10
REQUEST = {"model": "fake", "messages": [{"role": "user", "content": PROMPT}], "max_tokens": 1000}


def reply(usage: Any, *, finish: str = "stop", **message: Any) -> Reply:
    answer = {"role": "assistant", "content": ANSWER} | message
    body = {"choices": [{"message": answer, "finish_reason": finish}], "usage": usage}
    return with_trusted_tokens(read_completion(body), REQUEST)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        "many",
        [1],
        12,
        {"prompt_tokens": None, "completion_tokens": None},
        {"prompt_tokens": "200", "completion_tokens": "90"},
        {"prompt_tokens": -5, "completion_tokens": -1},
        {"prompt_tokens": 10**12, "completion_tokens": 10**12},
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": math.nan, "completion_tokens": math.inf},
        {"prompt_tokens": True, "completion_tokens": True},
        {"prompt_tokens": 2_000_000, "completion_tokens": 2_000_000},
    ],
)
def test_tokens_that_are_not_reported_or_cannot_be_true_are_counted(usage: Any) -> None:
    found = reply(usage)
    assert found.is_estimate
    assert len(PROMPT) / 4 < (found.prompt_tokens or 0) < len(PROMPT)
    assert len(ANSWER) / 4 < (found.completion_tokens or 0) < len(ANSWER)


def test_tokens_that_can_be_true_are_taken_as_reported() -> None:
    found = reply({"prompt_tokens": 130, "completion_tokens": 110})
    assert (found.prompt_tokens, found.completion_tokens, found.is_estimate) == (130, 110, False)
    found = reply({"prompt_tokens": 130})
    assert found.prompt_tokens == 130 and found.is_estimate
    assert len(ANSWER) / 4 < (found.completion_tokens or 0) < len(ANSWER)


def test_thoughts_and_answers_that_were_cut_off_are_counted_too() -> None:
    thoughtful = reply(None, reasoning_content="Let me think. " * 1000)
    assert (thoughtful.completion_tokens or 0) > 14_000 / 4
    assert (reply(None, finish="length").completion_tokens or 0) >= 1000


def test_numbers_of_any_length_are_read() -> None:
    body = b'{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": %s}}'
    assert read_completion(read_json(body % (b"9" * 5000))).raw == "x"


@given(
    usage=st.dictionaries(
        st.sampled_from(["prompt_tokens", "completion_tokens"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    ),
    text=st.text(max_size=200),
)
def test_implausible_token_counts_are_replaced_by_plausible_costs(usage: Any, text: str) -> None:
    body = {"choices": [{"message": {"content": text}}], "usage": usage}
    found = with_trusted_tokens(read_completion(json.loads(json.dumps(body))), REQUEST)
    size = len(text.encode("utf-8", "replace"))
    assert len(PROMPT) / 12 <= (found.prompt_tokens or 0) <= len(PROMPT) + SLACK
    assert size / 12 <= (found.completion_tokens or 0) <= max(1000, size) + SLACK


# -- the key of the environment -------------------------------------------------------------------

KEY = "sk-environment-1f"


@pytest.mark.parametrize(
    ("own", "asked", "goes"),
    [
        ("", "", True),
        ("", OWN_ADDRESS, True),
        ("", "https://API.openai.com/v1/", True),
        ("", "http://api.openai.com/v1", False),
        ("", "https://api.openai.com.evil.example/v1", False),
        ("", "https://api.openai.com:8443/v1", False),
        ("", "https://evil.example/https://api.openai.com/v1", False),
        ("", "http://127.0.0.1:8000/v1", False),
        ("https://llm.example/v1", "", True),
        ("https://llm.example/v1", "https://llm.example/v1/", True),
        ("https://llm.example/v1", "https://llm.example/other/v1", False),
        ("https://llm.example/v1", OWN_ADDRESS, True),
        ("https://llm.example/v1", "https://evil.example/v1", False),
    ],
)
def test_a_key_follows_no_address_that_anybody_types(
    home: Path, own: str, asked: str, goes: bool
) -> None:
    settings = Settings(home=home, openai_api_key=KEY, openai_base_url=own)
    assert key_for(asked, settings).get_secret_value() == (KEY if goes else "")
    model = chat_model(checked_request({"model": "fake", "base_url": asked}), settings)
    assert model.key.get_secret_value() == (KEY if goes else "")
    assert is_own(address_of("", settings)) == (not own)
    assert not key_for("http://[::1", settings).get_secret_value()


# -- a judge's verdict -----------------------------------------------------------------------------

VARIANT = "The bridge isn't safe."


def read(**values: object) -> tuple[Verdict, str, str, float | None] | None:
    given_up = {"comment": "So.", "reason": "none", "suggestion": "", "certainty": 0.9} | values
    found = read_judgement(json.dumps(given_up), variant=VARIANT, anchor=ANCHOR)
    return found and (found.verdict, found.reason, found.suggestion, found.certainty)


def test_the_question_contains_everything_that_a_reviewer_sees() -> None:
    entry = next(entry for entry in TAXONOMY if entry.id == "word")
    asked = question(
        built_in(JUDGE),
        anchor="A {variant} for all.",
        variant="A {type}.",
        entry=entry,
        cue="perhaps",
    )
    assert "\nText: A {variant} for all.\nVariant: A {type}.\n" in asked
    assert entry.guideline in asked and entry.definition in asked
    assert "requested hedge cue: perhaps." in asked
    framed = question(
        built_in(JUDGE),
        anchor="The door is open.",
        variant="There is no doubt that the door is open.",
        entry=variant_type("affirmation"),
        cue="There is no doubt that",
    )
    assert "requested hedge cue" not in framed
    for reason in REJECT_REASONS:
        assert (f"\n{reason.id}: " in asked) == reason.applies_to(entry)


def test_a_copy_of_the_prompt_needs_its_places() -> None:
    template = built_in(JUDGE)
    assert checked_template(template, JUDGE) == template
    with pytest.raises(HedgerowError, match="variant"):
        checked_template(template.replace("{variant}", ""), JUDGE)


def test_the_schema_is_what_strict_structured_outputs_take() -> None:
    schema = judgement_model().model_json_schema()
    assert schema["required"] == list(schema["properties"]) and "$defs" not in schema
    assert schema["additionalProperties"] is False
    assert len(schema["properties"]["reason"]["enum"]) == len(REJECT_REASONS) + 1


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"verdict": "accept", "reason": "wrong_type"}, (Verdict.ACCEPT, "", "", 0.9)),
        ({"verdict": "Reject."}, (Verdict.REJECT, "other", "", 0.9)),
        ({"verdict": "reject", "reason": "Wrong scope"}, (Verdict.REJECT, "wrong_scope", "", 0.9)),
        (
            {"verdict": "edit", "reason": "wrong_type", "suggestion": '"It isn\'t."'},
            (Verdict.EDIT, "wrong_type", "It isn't.", 0.9),
        ),
        ({"verdict": "edit", "suggestion": VARIANT}, (Verdict.REJECT, "other", "", 0.9)),
        ({"verdict": "edit", "suggestion": ANCHOR.upper()}, (Verdict.REJECT, "other", "", 0.9)),
        (
            {"verdict": "edit", "suggestion": "It isn't. " * 10_000},
            (Verdict.REJECT, "other", "", 0.9),
        ),
        ({"verdict": "edit", "suggestion": ["It.", "So."]}, (Verdict.REJECT, "other", "", 0.9)),
        ({"verdict": "edit", "suggestion": "None."}, (Verdict.REJECT, "other", "", 0.9)),
        ({"verdict": "accept", "certainty": "85 %"}, (Verdict.ACCEPT, "", "", 0.85)),
        ({"verdict": "accept", "certainty": 70}, (Verdict.ACCEPT, "", "", 0.7)),
        ({"verdict": "accept", "certainty": -1}, (Verdict.ACCEPT, "", "", None)),
        ({"verdict": "accept", "certainty": "high"}, (Verdict.ACCEPT, "", "", None)),
        ({"verdict": "accept", "certainty": True}, (Verdict.ACCEPT, "", "", None)),
        *(
            ({"verdict": "accept", "certainty": unclear}, (Verdict.ACCEPT, "", "", None))
            for unclear in (8, "8/10", "4 out of 5", "0.7-0.8", "-0.8")
        ),
        ({"verdict": "accept", "certainty": "high (0.9)"}, (Verdict.ACCEPT, "", "", 0.9)),
        ({"verdict": "Reject: both can be true."}, (Verdict.REJECT, "other", "", 0.9)),
        ({"verdict": "accept or edit"}, None),
        ({"verdict": ["accept", "reject"]}, None),
        ({"verdict": "maybe"}, None),
        ({}, None),
    ],
)
def test_json_is_read(
    values: dict[str, object], expected: tuple[Verdict, str, str, float | None] | None
) -> None:
    assert read(**values) == expected


@pytest.mark.parametrize(
    "raw",
    [
        "Comment: So.\nVerdict: edit\nReason: wrong_scope\nSuggestion: It isn't.\nCertainty: 0.5",
        '1. "comment": So.\n2. "verdict": edit\n3. "reason": wrong_scope\n'
        '4. "suggestion": "It isn\'t."\n5. "certainty": 0.5',
        "**Comment:** So.\n\n**Verdict:** Edit\n**Reason:** Wrong scope\n"
        "**Suggestion:** It isn't.\n**Certainty:** 50%\n",
        "Comment: So. Final verdict: edit. Reason: wrong_scope\nSuggestion: It isn't.\n"
        "Certainty: 0.5",
        "| Comment | So. |\n| Verdict | edit |\n| Reason | wrong_scope |\n"
        "| Suggestion | It isn't. |\n| Certainty | 0.5 |",
        "<comment>So.</comment><verdict>edit</verdict>Reason: wrong_scope\n"
        "<suggestion>It isn't.</suggestion><certainty>0.5</certainty>",
        '```json\n{"Verdict": "edit", "Reason": "wrong_scope", "Suggestion": "It isn\'t.",'
        ' "Comment": "So.", "Certainty": "0,5"}\n```',
    ],
)
def test_labelled_lines_are_read_as_json_is(raw: str) -> None:
    found = read_judgement(raw, variant=VARIANT, anchor=ANCHOR)
    assert found == (Verdict.EDIT, "wrong_scope", "So.", "It isn't.", 0.5)


def test_long_and_odd_comments_are_kept() -> None:
    for comment, kept in (
        ("So. " * 25_000, "So. So."),
        ("So.\x00\n\n\x1b[31mMore.", "So. [31mMore."),
    ):
        found = read_judgement(
            json.dumps({"verdict": "reject", "comment": comment}), variant=VARIANT, anchor=ANCHOR
        )
        assert found is not None and found.comment.startswith(kept)
        assert len(found.comment) <= MAX_COMMENT


def test_a_verdict_as_the_first_word_is_enough() -> None:
    found = read_judgement("Reject. Both can be true.\n\nMore.", variant=VARIANT, anchor=ANCHOR)
    assert found == (Verdict.REJECT, "other", "Both can be true.", "", None)
    for raw in (
        "**Accept.** There is no reason to reject it.",
        "Verdict: ✅ Accept (as it is)",
    ):
        found = read_judgement(raw, variant=VARIANT, anchor=ANCHOR)
        assert found is not None and found.verdict is Verdict.ACCEPT


@pytest.mark.parametrize(
    "raw",
    [
        "I would not reject it.",
        "Accept would be wrong.",
        "Accept? No, reject.",
        "Accept or reject? I'd say reject.",
        "Accept, edit or reject: reject",
        "Accept/Reject",
        "Accept with an edit.",
        "Reject, no wait, accept.",
        "Accept.\n\nWait: Reject.",
        "Verdict: not accept",
        "Verdict: accept\n\nActually, I change my mind. Reject.",
        "Verdict: accept\nOn reflection, verdict: reject",
        "Verdict: accept\nReason: none\nFinal verdict: reject",
    ],
)
def test_a_condition_or_a_change_of_mind_is_no_verdict(raw: str) -> None:
    assert read_judgement(raw, variant=VARIANT, anchor=ANCHOR) is None
