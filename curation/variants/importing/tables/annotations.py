"""Flattens the nested records of other programs into one row per annotator's answer.

Label Studio exports tasks: an object ``data`` and a list of ``annotations``, each with the results
of the controls in its form. Argilla exports records: an object ``fields``, and ``responses`` by
question. Hedgerow's own triples are rows with two variants. Predictions and suggestions by models
are left out, as are answers that an annotator skipped or discarded.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Cells = dict[str, Any]

ANNOTATOR = "annotator"
"""The column with the annotator's name."""

_SUBMITTED = (None, "submitted")
_TYPED_TRIPLE = {"anchor", "positive", "negative", "positive_type", "negative_type"}


class Shape(NamedTuple):
    """How the records of a file are nested.

    Attributes:
        name: the program that wrote them.
        rows: returns the flat rows of one record.
        flat: whether the records are already flat.
    """

    name: str
    rows: Callable[[Cells], Iterator[Cells]]
    flat: bool = False


def shape_of(records: Sequence[Cells]) -> Shape:
    """Detect from the first records of a file how they are nested."""
    keys = set().union(*records)
    if "annotations" in keys and all(isinstance(one.get("data"), dict) for one in records):
        return Shape("Label Studio", _tasks)
    if "responses" in keys and all(isinstance(one.get("fields"), dict) for one in records):
        return Shape("Argilla", _argilla_records)
    if any(key.endswith(".responses.users") for key in keys):
        return Shape("Argilla", _argilla_columns)
    if keys >= _TYPED_TRIPLE:
        return Shape("Hedgerow", _triples)
    return Shape("table", _as_it_is, flat=True)


def _as_it_is(record: Cells) -> Iterator[Cells]:
    yield record


def _triples(record: Cells) -> Iterator[Cells]:
    """Return the two variants of a typed triple."""
    shared = {key: record.get(key) for key in ("anchor", "split") if key in record}
    for side in ("positive", "negative"):
        yield shared | {
            "text": record.get(side),
            "type": record.get(f"{side}_type"),
            "cue": record.get(f"{side}_cue"),
        }


def _tasks(task: Cells) -> Iterator[Cells]:
    """Flatten a task of Label Studio: a row per annotation, or one without an answer."""
    data = {key: value for key, value in task["data"].items() if not isinstance(value, dict | list)}
    answers = [
        _answer(annotation)
        for annotation in _dicts(task.get("annotations"))
        if not annotation.get("was_cancelled")
    ]
    for answer in answers or [{}]:
        yield data | answer


def _answer(annotation: Mapping[str, Any]) -> Cells:
    found: Cells = {}
    for result in _dicts(annotation.get("result")):
        value = result.get("value")
        if isinstance(value, dict):
            chosen = value.get("choices") or value.get("text")
            if joined := _joined(chosen):
                found[str(result.get("from_name", "choice"))] = joined
    return found | {ANNOTATOR: _annotator(annotation.get("completed_by"))}


def _annotator(who: Any) -> str:
    """Return the name of an annotator, or else the e-mail address or number."""
    if not isinstance(who, dict):
        return "" if who is None else f"annotator {who}"
    name = " ".join(str(who[key]) for key in ("first_name", "last_name") if who.get(key))
    return name or str(who.get("email") or "") or f"annotator {who.get('id', '')}".strip()


def _argilla_records(record: Cells) -> Iterator[Cells]:
    """Flatten a record of Argilla: a row per annotator, or one without an answer."""
    base = _scalars(record["fields"])
    if isinstance(metadata := record.get("metadata"), dict):
        base = _scalars(metadata) | base
    by_user: dict[str, Cells] = {}
    for question, user, value in _responses(record.get("responses")):
        by_user.setdefault(user, {})[question] = _joined(value)
    yield from _by_annotator(base, by_user)


def _responses(responses: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield (question, annotator, value) of each response, as in the library or the server."""
    if isinstance(responses, dict):
        for question, answers in responses.items():
            for answer in _dicts(answers):
                if answer.get("status") in _SUBMITTED:
                    yield question, _user(answer.get("user_id")), answer.get("value")
        return
    for response in _dicts(responses):
        values = response.get("values")
        if response.get("status") in _SUBMITTED and isinstance(values, dict):
            for question, answer in values.items():
                value = answer.get("value") if isinstance(answer, dict) else answer
                yield question, _user(response.get("user_id")), value


def _argilla_columns(record: Cells) -> Iterator[Cells]:
    """Flatten an Argilla record from a data set: lists in columns ``QUESTION.responses``."""
    by_user: dict[str, Cells] = {}
    base = _scalars({key: value for key, value in record.items() if "." not in key})
    for key in record:
        question, dot, rest = key.partition(".responses")
        if dot and not rest:
            values = record[key] or []
            users = record.get(f"{key}.users") or [None] * len(values)
            states = record.get(f"{key}.status") or [None] * len(values)
            for value, user, state in zip(values, users, states, strict=False):
                if state in _SUBMITTED:
                    by_user.setdefault(_user(user), {})[question] = _joined(value)
    yield from _by_annotator(base, by_user)


def _by_annotator(base: Cells, by_user: Mapping[str, Cells]) -> Iterator[Cells]:
    for user, answers in by_user.items():
        yield base | answers | {ANNOTATOR: user}
    if not by_user:
        yield base


def _user(who: Any) -> str:
    return "" if who is None else str(who)


def _scalars(values: Mapping[str, Any]) -> Cells:
    return {key: value for key, value in values.items() if not isinstance(value, dict | list)}


def _dicts(values: Any) -> list[dict[str, Any]]:
    """Return the objects in a list; [] for anything else."""
    found = values if isinstance(values, list) else []
    return [value for value in found if isinstance(value, dict)]


def _joined(value: Any) -> str:
    """Return an answer as text, with several values separated by semicolons."""
    if isinstance(value, list):
        return "; ".join(map(str, value))
    return "" if value is None else str(value)
