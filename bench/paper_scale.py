"""A day at the scale of the HedgeTriple paper: from 50,000 anchors to a model, command by command.

    python -m bench.paper_scale [--anchors 50000] [--steps 50] [--folder DIR]

The anchors are the starter corpus's, with numbers that make them distinct; the bundled rules write
the variants, and a rule accepts those without a flag. The bench prints the seconds and the peak
memory of each command, and the ratio of its memory to that of `hedgerow status` in the empty
project.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.anchor_import import starter_anchors

HEDGEROW = [sys.executable, "-m", "hedgerow"]


def anchors(count: int) -> list[str]:
    """This many distinct anchors."""
    families = starter_anchors()
    texts = (families[number % len(families)]["anchor"] for number in range(count))
    return [f'"{text.rstrip(".")} in case {number}."' for number, text in enumerate(texts)]


def carry_out(command: list[str], folder: Path) -> tuple[float, float]:
    """Run a command in the project; return the seconds and the peak memory in MB."""
    begun = time.monotonic()
    environment = os.environ | {"HEDGEROW_HOME": str(folder), "HEDGEROW_REVIEWER": "Bench"}
    with Path(folder, "out.txt").open("a") as out:
        process = subprocess.Popen([*HEDGEROW, *command], stdout=out, stderr=out, env=environment)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(Path(folder, "out.txt").read_text()[-1000:])
    return time.monotonic() - begun, used.ru_maxrss / 1024


def main() -> None:
    """Do everything, and print a line for each command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--anchors", type=int, default=50_000)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        file = folder / "anchors.csv"
        file.write_text("\n".join(["text", *anchors(options.anchors)]))
        commands = (
            ["init", "--empty"],
            ["status"],
            ["anchors", "add", str(file), "--column", "text", "--source", "Bench"],
            ["generate", "--provider", "rules"],
            ["review", "apply", "--accept", "--rule", "no flags"],
            ["release", "create"],
            ["export", str(folder / "exported"), "--format", "jsonl"],
            ["train", "--preset", "quick", "--set", f"max_steps={options.steps}"],
            ["status", "--json"],
        )
        idle = 0.0
        for command in commands:
            seconds, memory = carry_out(command, folder)
            idle = memory if command == ["status"] else idle
            ratio = f" ({memory / idle:.1f} times)" if idle else ""
            shown = " ".join(Path(word).name if "/" in word else word for word in command)
            print(f"{shown:70} {seconds:7.1f} s  {memory:6.0f} MB{ratio}", flush=True)
        found = json.loads(Path(folder, "out.txt").read_text().splitlines()[-1])
        print(json.dumps(found)[:600])


if __name__ == "__main__":
    main()
