"""Results as files, for showing single items and comparing two models later.

JSON Lines: first the result without its rows, then one row per line. A missing score is null.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from db.errors import HedgerowError
from training.benchmarks.definition import ItemResult, PartMark, PartScore, Result


def write_result(result: Result, path: Path) -> None:
    """Write a result. An existing file is replaced in one step."""
    head = result.summary | {"kind": result.kind}
    lines = [json.dumps(head, ensure_ascii=False)]
    lines += [json.dumps(_values(row), ensure_ascii=False) for row in result.rows]
    partial = path.with_name(f"{path.name}.part")
    partial.write_text("\n".join(lines) + "\n", encoding="utf-8")
    partial.replace(path)


def read_result(path: Path) -> Result:
    """The result that `write_result` wrote.

    Raises:
        HedgerowError: the file can't be read or holds something else.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
        head, *rows = (json.loads(line) for line in lines if line)
        return _result(head, tuple(map(_row, rows)))
    except OSError as error:
        raise HedgerowError(f"Could not read {str(path)!r}: {error.strerror}.") from error
    except (ValueError, TypeError, KeyError) as error:
        raise HedgerowError(
            f"Expected a stored result in {str(path)!r}, found something else; run the benchmark "
            "again."
        ) from error


def _values(row: ItemResult) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in ItemResult.__dataclass_fields__}
    scores = [score if math.isfinite(score) else None for score in row.scores]
    return values | {"scores": scores, "texts": dict(row.texts), "uids": dict(row.uids)}


def _row(values: Mapping[str, Any]) -> ItemResult:
    scores = tuple(math.nan if score is None else float(score) for score in values["scores"])
    marks = tuple(PartMark(*mark) for mark in values["marks"])
    return ItemResult(**{**values, "scores": scores, "marks": marks})


def _result(head: Mapping[str, Any], rows: tuple[ItemResult, ...]) -> Result:
    breakdowns = {
        name: {value: PartScore(**part) for value, part in parts.items()}
        for name, parts in head["breakdowns"].items()
    }
    return Result(**{**head, "breakdowns": breakdowns, "rows": rows})
