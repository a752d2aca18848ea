"""Flatten the records of annotation tools into one row per annotator's answer.

A record has three parts that are kept apart: its fields, its metadata, and the answers of each
annotator. An answer never overwrites a field of the same name: it gets a column of its own, called
``NAME (answer)``, or ``NAME (own wording)`` if it is a text that the annotator wrote. Answers of
one annotator to the same question on several regions, or several choices, stay a list, which is no
verdict. Predictions and suggestions by models are left out, as are answers that an annotator
skipped or discarded.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from curation.tables.json_values import unpacked

Cells = dict[str, Any]

ANNOTATOR = "annotator"
"""The column with the annotator's name."""

BY_ANNOTATOR = ("doccano", "Potato")
"""The tools that write a file for each annotator, with the name only in the name of the file."""

ANSWER, OWN_WORDING = " (answer)", " (own wording)"
"""What follows the name of a field in the column of an answer with the same name."""

_SUBMITTED = (None, "submitted")
_TYPED_TRIPLE = {"anchor", "positive", "negative", "positive_type", "negative_type"}
_LABEL_STUDIO_FACTS = {"annotation_id", "lead_time", "created_at", "updated_at", "agreement"}
_PRODIGY_FACTS = {"options", "accept", "config", "answer", "tokens"}
_TRUE = ("true", "1", "1.0")
_PLACES = {
    *("start", "end", "startOffset", "endOffset", "globalOffsets", "x", "y", "width", "height"),
    *("rotation", "original_width", "original_height", "points", "closed"),
}
"""Where a region is, in a result of Label Studio."""


class Tool(NamedTuple):
    """What wrote a file.

    Attributes:
        name: '' if nothing shows it.
        rows: returns the flat rows of one record.
    """

    name: str
    rows: Callable[[Cells], Iterator[Cells]]


def tool_of(records: Sequence[Cells]) -> Tool:
    """Recognise the tool by the first records of a file."""
    keys = set().union(*records)
    for tool, is_its in _TOOLS:
        if is_its(keys, records):
            return tool
    return Tool("", _as_it_is)


def _all_have(records: Sequence[Cells], key: str) -> bool:
    return all(isinstance(record.get(key), dict) for record in records)


def _as_it_is(record: Cells) -> Iterator[Cells]:
    yield record


def _triples(record: Cells) -> Iterator[Cells]:
    """The two variants of a typed triple."""
    shared = {key: record.get(key) for key in ("anchor", "split") if key in record}
    for side in ("positive", "negative"):
        yield shared | {
            "text": record.get(side),
            "type": record.get(f"{side}_type"),
            "cue": record.get(f"{side}_cue"),
        }


def _answered(fields: Cells, answers: Mapping[str, Any], annotator: str) -> Cells:
    """A row: the record's fields with one annotator's answers."""
    row = {f"{key} (field)" if key == ANNOTATOR else key: value for key, value in fields.items()}
    for question, value in answers.items():
        name = question
        if question in fields or question == ANNOTATOR:
            is_text = isinstance(value, str) and " " in value.strip()
            name += OWN_WORDING if is_text and question in fields else ANSWER
        row[name] = value
    return row | {ANNOTATOR: annotator}


def _one(values: list[Any]) -> Any:
    """The value of a list that has only one, else all of them."""
    return values[0] if all(value == values[0] for value in values) else values


def _named(who: Any) -> str:
    """The e-mail address of an annotator, as in tables by Label Studio, else the name or number."""
    if isinstance(who, dict):
        name = " ".join(str(who[key]) for key in ("first_name", "last_name") if who.get(key))
        return str(who.get("email") or "") or name or _named(who.get("id"))
    if who is None or who == "":
        return ""
    return f"annotator {who}" if str(who).isdigit() else str(who)


# Label Studio: tasks with annotations, each with the results of the controls in its form. JSON-MIN
# and CSV have one row per annotation, with the answers beside the task's data.


def _tasks(task: Cells) -> Iterator[Cells]:
    """A row per annotation of a task, or one without an answer."""
    if isinstance(task.get("task"), dict):  # an annotation with its task, from a storage
        task = task["task"] | {"annotations": [task]}
    data = _with_metadata(task["data"], task.get("meta"))
    given = [one for one in _dicts(task.get("annotations")) if not one.get("was_cancelled")]
    for annotation in given:
        yield _answered(data, _results(annotation), _named(annotation.get("completed_by")))
    if not given:
        yield data


def _results(annotation: Mapping[str, Any]) -> Cells:
    found: dict[str, list[Any]] = {}
    for result in _dicts(annotation.get("result")):
        value = result.get("value")
        if isinstance(value, dict):
            answer = _answer(value, str(result.get("type")))
            found.setdefault(str(result.get("from_name", "choice")), []).append(answer)
    return {question: _one(answers) for question, answers in found.items()}


def _answer(value: Any, control: str = "value") -> Any:
    """The content of an answer: a choice, text, rating, number, label of a region, path in a
    taxonomy, or whatever else the control is named after; all of them if there are several."""
    if isinstance(value, dict):
        names = [control] if control in value else [name for name in value if name not in _PLACES]
        names.sort(key="text".__eq__)  # a region has its text and its labels
        return _answer(value[names[0]]) if names else None
    if isinstance(value, list):
        parts = [
            " > ".join(map(str, one)) if isinstance(one, list) else _answer(one) for one in value
        ]
        return _one(parts) if parts else None
    return value


def _flat_tasks(record: Cells) -> Iterator[Cells]:
    cells = {key: value for key, value in record.items() if key not in _LABEL_STUDIO_FACTS}
    answers = {key: _answer(unpacked(value)) for key, value in cells.items()}
    yield answers | {ANNOTATOR: _named(record.get(ANNOTATOR))}


# Argilla: an object ``fields``, and ``responses`` by question (library, server or data set).


def _argilla(record: Cells) -> Iterator[Cells]:
    by_user: dict[str, dict[str, list[Any]]] = {}
    for question, response in _responses(record.get("responses")):
        if response.get("status") in _SUBMITTED:
            answers = by_user.setdefault(_named(response.get("user_id")), {})
            answers.setdefault(question, []).append(_answer(response.get("value")))
    fields = _with_metadata(record["fields"], record.get("metadata"))
    for user, answers in by_user.items():
        yield _answered(fields, {question: _one(all_) for question, all_ in answers.items()}, user)
    if not by_user:
        yield fields


def _responses(responses: Any) -> Iterator[tuple[str, Cells]]:
    """The responses to each question, as in the library or, by annotator, the server."""
    if isinstance(responses, dict):
        for question, answers in responses.items():
            yield from ((question, answer) for answer in _rows(answers))
    for response in _dicts(responses):
        values = response.get("values")
        for question, value in values.items() if isinstance(values, dict) else ():
            yield question, response | {"value": value}


def _argilla_columns(record: Cells) -> Iterator[Cells]:
    """An Argilla record from a data set: lists in columns ``QUESTION.responses``."""
    responses: Cells = {}
    for key in record:
        question, is_answer, rest = key.partition(".responses")
        if is_answer and not rest:
            columns = {"value": key, "user_id": f"{key}.users", "status": f"{key}.status"}
            lists = {name: unpacked(record.get(column)) for name, column in columns.items()}
            responses[question] = {name: values for name, values in lists.items() if values}
    metadata = {key[9:]: value for key, value in record.items() if key.startswith("metadata.")}
    fields = {key: value for key, value in record.items() if "." not in key}
    yield from _argilla({"fields": fields, "metadata": metadata, "responses": responses})


def _argilla_1(record: Cells) -> Iterator[Cells]:
    """A record of Argilla 1: with one annotation, or with a list of answers in the column of each
    question, beside its ``QUESTION-suggestion``."""
    metadata = unpacked(record.get("metadata"))
    responses = {key: record[key] for key in record if f"{key}-suggestion" in record}
    fields = {key: value for key, value in record.items() if "-suggestion" not in key}
    fields.pop("metadata", None)
    if "annotation_agent" in fields:
        answer, agent = fields.pop("annotation"), fields.pop("annotation_agent")
        fields |= fields.pop("inputs", None) or {}
        responses["annotation"] = [{"value": answer, "user_id": agent}] * (answer is not None)
    fields = {key: value for key, value in fields.items() if key not in responses}
    yield from _argilla({"fields": fields, "metadata": metadata, "responses": responses})


def _rows(values: Any) -> list[Cells]:
    """A list of objects, which data sets store as an object of lists."""
    if not isinstance(values, dict):
        return _dicts(values)
    return [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=False)]


def _with_metadata(fields: Cells, metadata: Any) -> Cells:
    found = dict(fields)
    for key, value in (metadata if isinstance(metadata, dict) else {}).items():
        found[f"{key} (metadata)" if key in found else key] = value
    return found


def _prodigy(record: Cells) -> Iterator[Cells]:
    """A task with an answer. In a form with options, accepting means that the chosen ones, in the
    column *accept*, were submitted."""
    fields = {key: value for key, value in record.items() if key not in _PRODIGY_FACTS}
    fields = {key: value for key, value in fields.items() if key[:1] != "_" and key != "meta"}
    fields = _with_metadata(fields, record.get("meta"))
    annotator = _named(record.get("_annotator_id") or record.get("_session_id"))
    answer, answers = record.get("answer"), Cells()
    if answer == "accept" and record.keys() & {"accept", "options"}:
        answers["accept"] = _answer(record.get("accept"))
    else:
        answers["answer"] = answer
    yield _answered(fields, answers, annotator)


def _potato(record: Cells) -> Iterator[Cells]:
    """An instance with one person's answers: scheme → label → whether it was chosen, or a text."""
    answers = {}
    for scheme, labels in record["label_annotations"].items():
        chosen = labels if isinstance(labels, dict) else {}
        found = [
            label if str(value).casefold() in _TRUE else value
            for label, value in chosen.items()
            if value
        ]
        if found:
            answers[scheme] = _one(found)
    fields = {key: record[key] for key in record if key not in ("user", "label_annotations")}
    yield _answered(fields, answers, _named(record.get("user")))


def _potato_columns(record: Cells) -> Iterator[Cells]:
    """The same as a table: columns ``SCHEME:::LABEL``."""
    labels: dict[str, Cells] = {}
    fields: Cells = {}
    for key, value in record.items():
        scheme, is_answer, label = key.partition(":::")
        if is_answer:
            labels.setdefault(scheme, {})[label] = value
        else:
            fields[key] = value
    yield from _potato(fields | {"label_annotations": labels})


def _dicts(values: Any) -> list[dict[str, Any]]:
    """The objects in a list; [] for anything else."""
    found = values if isinstance(values, list) else []
    return [value for value in found if isinstance(value, dict)]


_Test = Callable[[set[str], Sequence[Cells]], bool]
_TOOLS: tuple[tuple[Tool, _Test], ...] = (
    (
        Tool("Label Studio", _tasks),
        lambda keys, records: (
            (
                _all_have(records, "data")
                and (len(keys) == 1 or bool(keys & {"annotations", "predictions"}))
            )
            or ("result" in keys and _all_have(records, "task"))
        ),
    ),
    (
        Tool("Label Studio", _flat_tasks),
        lambda keys, records: keys >= {ANNOTATOR, "annotation_id"},
    ),
    (
        Tool("Argilla", _argilla),
        lambda keys, records: "responses" in keys and _all_have(records, "fields"),
    ),
    (
        Tool("Argilla", _argilla_columns),
        lambda keys, records: any(key.endswith(".responses.users") for key in keys),
    ),
    (
        Tool("Argilla", _argilla_1),
        lambda keys, records: (
            keys >= {"annotation", "annotation_agent"}
            or any(f"{key}-suggestion" in keys for key in keys)
        ),
    ),
    (
        Tool("Potato", _potato),
        lambda keys, records: _all_have(records, "label_annotations"),
    ),
    (
        Tool("Potato", _potato_columns),
        lambda keys, records: "user" in keys and any(":::" in key for key in keys),
    ),
    (
        Tool("Prodigy", _prodigy),
        lambda keys, records: (
            "answer" in keys
            and bool(keys & {"_input_hash", "_task_hash", "_annotator_id", "_session_id", "accept"})
        ),
    ),
    (
        Tool("doccano", _as_it_is),
        lambda keys, records: "id" in keys and bool(keys & {"Comments", "comments"}),
    ),
    (Tool("Hedgerow", _triples), lambda keys, records: keys >= _TYPED_TRIPLE),
)
"""In the order in which they are tried."""
