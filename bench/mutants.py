"""How many small faults in the program do the tests notice?

Choose faults (mutants) in the functions of curation, training, db and the pages' shared parts, and
run for each those tests that execute its line, until one fails. Baseline: the results of an earlier
commit, by ``--baseline``. Tests in a browser are left out: they execute the program in other
processes, in which nothing is changed. Record first which tests execute which lines:

    pytest -n 4 --cov --cov-branch --cov-context=test --cov-report=
    python -m bench.mutants --results after.jsonl --baseline before.jsonl

A fault is put into the functions of a fork of one process that has collected all tests, so that
each costs little more than its tests.
"""

import argparse
import ast
import copy
import gc
import importlib
import json
import os
import random
import signal
import sys
import tempfile
import time
import types
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
from coverage import CoverageData

FOLDERS = ("curation", "training", "db", "pages/components/shared")
TEST_SECONDS = 300
"""A test that takes longer has noticed the fault: it made an endless loop."""
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
TYPES_AND_SIGNATURES = ("annotation", "returns", "decorator_list", "args", "type_params")
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}


@dataclass(frozen=True)
class Mutant:
    """A fault: the statement's place, and its text before and after."""

    path: str
    line: int
    end: int
    before: str
    after: str
    number: int
    """Which of the file's possible faults."""


def change(node: ast.AST) -> ast.AST | None:
    """The node with a fault, or nothing if we know none for it. Does not change the node."""
    new = copy.deepcopy(node)
    match new:
        case ast.Compare(ops=[kind]) if type(kind) in COMPARISONS:
            new.ops = [COMPARISONS[type(kind)]()]
        case ast.BoolOp():
            new.op = ast.Or() if isinstance(new.op, ast.And) else ast.And()
        case ast.UnaryOp(op=ast.Not()):
            new = new.operand
        case ast.BinOp(op=kind) if type(kind) in ARITHMETIC:
            new.op = ARITHMETIC[type(kind)]()
        case ast.Constant(value=bool()):
            new.value = not new.value
        case ast.Constant(value=int() | float() as value):
            new.value = value + 1
        case ast.If() | ast.IfExp():
            new.test = ast.UnaryOp(ast.Not(), new.test)
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            new.value = ast.Constant(None)
        case ast.Expr(value=ast.Call()):
            new = ast.Pass()
        case _:
            return None
    return ast.copy_location(new, node)


def places(tree: ast.Module) -> Iterator[tuple[ast.stmt, ast.AST]]:
    """The statement and the node of each possible fault: inside functions, without annotations."""

    def walk(node: ast.AST, statement: ast.stmt | None) -> Iterator[tuple[ast.stmt, ast.AST]]:
        for name, value in ast.iter_fields(node):
            if name in TYPES_AND_SIGNATURES and not isinstance(node, ast.Call):
                continue
            for child in value if isinstance(value, list) else [value]:
                if not isinstance(child, ast.AST):
                    continue
                inside = isinstance(node, ast.FunctionDef) or statement is not None
                here = child if isinstance(child, ast.stmt) and inside else statement
                if here is not None and change(child) is not None:
                    yield here, child
                yield from walk(child, here)

    return walk(tree, None)


def mutants(path: Path) -> Iterator[Mutant]:
    """All possible faults of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for number, (statement, node) in enumerate(places(tree)):
        body = getattr(statement, "body", None)
        first = body[0].lineno - 1 if body else statement.end_lineno or statement.lineno
        after = change(node)
        assert after is not None
        yield Mutant(
            path=str(path),
            line=statement.lineno,
            end=max(statement.lineno, first),
            before=ast.unparse(node).partition("\n")[0][:120],
            after=ast.unparse(ast.fix_missing_locations(after)).partition("\n")[0][:120],
            number=number,
        )


def chosen(count: int, seed: int) -> list[Mutant]:
    """Faults of all files; the same ones as long as the program does not change."""
    files = sorted(path for folder in FOLDERS for path in Path(folder).rglob("*.py"))
    known = [each for path in files if "migrations" not in path.parts for each in mutants(path)]
    return random.Random(seed).sample(known, count)


class _Replaced(ast.NodeTransformer):
    def __init__(self, node: ast.AST, new: ast.AST) -> None:
        self._node, self._new = node, new

    def visit(self, node: ast.AST) -> Any:
        return self._new if node is self._node else self.generic_visit(node)


def put_in(mutant: Mutant) -> None:
    """Give all functions of the mutant's module the code with the fault."""
    path = Path(mutant.path).resolve()
    importlib.import_module(
        mutant.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    )
    tree = ast.parse(path.read_text(encoding="utf-8"))
    node = list(places(tree))[mutant.number][1]
    new = change(node)
    assert new is not None
    faulty: ast.Module = ast.fix_missing_locations(_Replaced(node, new).visit(tree))
    codes = {
        (code.co_qualname, code.co_firstlineno): code
        for code in _codes(compile(faulty, str(path), "exec", dont_inherit=True))
    }
    for each in gc.get_objects():
        if isinstance(each, types.FunctionType) and each.__code__.co_filename == str(path):
            code = codes.get((each.__code__.co_qualname, each.__code__.co_firstlineno))
            if code and code.co_freevars == each.__code__.co_freevars:
                each.__code__ = code


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


class Tests:
    """Which tests execute a line, those that execute few lines first."""

    def __init__(self, data: Path) -> None:
        """Read the data that coverage.py has stored."""
        known = CoverageData(str(data))
        known.read()
        self._by_line: dict[str, dict[int, set[str]]] = {}
        self._lines: defaultdict[str, int] = defaultdict(int)
        root = Path.cwd()
        for file in known.measured_files():
            found: dict[int, set[str]] = defaultdict(set)
            for line, contexts in known.contexts_by_lineno(file).items():
                for context in contexts:
                    if name := context.partition("|")[0]:
                        found[line].add(name)
                        self._lines[name] += 1
            path = Path(file)
            self._by_line[str(path.relative_to(root) if path.is_absolute() else path)] = found

    def running(self, mutant: Mutant) -> list[str]:
        """The node ids for a mutant."""
        lines = self._by_line.get(mutant.path, {})
        names = {
            name for line in range(mutant.line, mutant.end + 1) for name in lines.get(line, ())
        }
        return sorted(names, key=lambda name: (self._lines[name], name))


class Fork:
    """A pytest plug-in that runs, instead of all tests, those of each mutant in a fork."""

    def __init__(self, faults: list[Mutant], tests: Tests, results: Path, workers: int) -> None:
        self._faults, self._tests = faults, tests
        self._results, self._workers = results, workers
        self._failed = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember the first failure."""
        if report.failed and not self._failed:
            self._failed = report.nodeid

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run everything."""
        items = {
            item.nodeid: item for item in session.items if not item.get_closest_marker("browser")
        }
        waiting, running = list(self._faults), dict[int, tuple[Mutant, Path, int, float]]()
        while waiting or running:
            while waiting and len(running) < self._workers:
                mutant = waiting.pop(0)
                found = [items[name] for name in self._tests.running(mutant) if name in items]
                said = Path(tempfile.mkstemp()[1])
                sys.stdout.flush()
                pid = os.fork()
                if not pid:
                    self._child(mutant, found, said)
                running[pid] = mutant, said, len(found), time.monotonic()
            pid, status = os.wait()
            if pid in running:
                mutant, said, count, start = running.pop(pid)
                self._note(mutant, status, said.read_text(), count, time.monotonic() - start)
                with suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)  # what its tests have started
        return True

    def _child(self, mutant: Mutant, items: list[pytest.Item], said: Path) -> None:
        os.setpgid(0, 0)
        os.environ["HEDGEROW_TEST_RUN"] = f"m{os.getpid()}"
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        code = 3
        try:
            put_in(mutant)
            if items:
                config: Any = items[0].config
                folder = Path(tempfile.mkdtemp(prefix="mutant"))
                config._tmp_path_factory._basetemp = folder
                config.cache._cachedir = folder  # databases that the faulty program fills
            for item, following in zip(items, [*items[1:], None], strict=True):
                signal.alarm(TEST_SECONDS)
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if self._failed:
                    break
            code = 1 if self._failed else 0
        except BaseException as error:
            self._failed = repr(error)
        said.write_text(self._failed)
        os._exit(code)

    def _note(self, mutant: Mutant, status: int, said: str, count: int, seconds: float) -> None:
        code = os.waitstatus_to_exitcode(status)
        state = {0: "survived", 1: "killed", 3: "error"}.get(code, "killed")
        row = asdict(mutant) | {
            "state": state,
            "by": said or (f"exit status {code}" if code else ""),
            "tests": count,
            "seconds": round(seconds, 1),
        }
        with self._results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(
            f"{state:9} {mutant.path}:{mutant.line}  {mutant.before} → {mutant.after}", flush=True
        )


def main() -> None:
    """Run the faults, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--coverage", type=Path, default=Path(".coverage"))
    parser.add_argument("--results", type=Path, default=Path("mutants.jsonl"))
    parser.add_argument("--baseline", type=Path, help="the results of an earlier commit")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    faults = chosen(options.count, options.seed)
    options.results.write_text("")
    fork = Fork(faults, Tests(options.coverage), options.results, options.workers)
    pytest.main(["-q", "-s", "-n0", "tests"], plugins=[fork])
    found = _read(options.results)
    survivors = {key for key, state in found.items() if state != "killed"}
    print(f"{len(found) - len(survivors)} of {len(found)} killed")
    if options.baseline:
        before = _read(options.baseline)
        lost = sorted(key for key in survivors if before.get(key) == "killed")
        killed = sum(state == "killed" for state in before.values())
        ratio = (len(found) - len(survivors)) / max(1, killed)
        print(f"baseline: {killed} killed; ratio {ratio:.2f}; survive only now: {lost}")


def _read(path: Path) -> dict[tuple[str, int], str]:
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {(row["path"], row["number"]): row["state"] for row in rows}


if __name__ == "__main__":
    main()
