"""The rules' word lists, loaded once. Every entry was checked by hand."""

import json
from pathlib import Path
from typing import Any

WORDS: dict[str, Any] = json.loads(
    Path(__file__).with_name("words.json").read_text(encoding="utf-8")
)
