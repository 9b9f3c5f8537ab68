"""A list of the places in the source that refuse an input, and of those that no test reaches.

`python -m tests.bad_input.places TESTS` runs these tests (all, where none are named) and prints
every place that makes an InputError and that none of them came to; `--json FILE` writes those that
they came to. Of a refusal by pydantic the key counts, too, and what is wrong with it.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from pydantic import ValidationError

from probe.errors import InputError

ROOT = Path(__file__).parents[2]
ROOMS = ("probe", "scenarios", "figures")
ERRORS = {"InputError", "NotWritten", "NotMeasured", "NotKept", "ModelRaised", "NothingToDraw"}
MAKERS = ERRORS | {"unknown"}  # which returns an error
Place = tuple[str, str, int]
"""A file, a function in it, and the first line of the call that makes the error."""


@cache
def places_of(file: str) -> dict[Place, tuple[range, str]]:
    """Return the places of a file: the lines of each, and its message as it is written there."""
    places: dict[Place, tuple[range, str]] = {}

    def visit(node: ast.AST, function: str) -> None:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            function = f"{function}.{node.name}".removeprefix(".")
        name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and name in MAKERS:
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            places[file, function, node.lineno] = lines, ast.unparse(node)
        for child in ast.iter_child_nodes(node):
            visit(child, function)

    visit(ast.parse((ROOT / file).read_text()), "")
    return places


def every_place() -> dict[Place, str]:
    """Return the message of each place of the source."""
    files = [str(p.relative_to(ROOT)) for room in ROOMS for p in (ROOT / room).rglob("*.py")]
    return {place: text for file in files for place, (_, text) in places_of(file).items()}


def place_of(frame: FrameType | None) -> Place | None:
    """Return the place, downwards from a frame, at which an error is made."""
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        file = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else ""
        if file.startswith(ROOMS) and file != "probe/errors.py":
            return next(
                (p for p, (lines, _) in places_of(file).items() if frame.f_lineno in lines), None
            )
        frame = frame.f_back
    return None


class Recorder:
    """A plugin of pytest that notes the places at which errors are made, and in which tests."""

    def __init__(self) -> None:
        self.reached: dict[Place, set[str]] = defaultdict(set)
        self.keys: dict[str, set[str]] = defaultdict(set)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Note what one test comes to; errors that are made on import count for no test."""
        with self.noting(item.nodeid):
            return (yield)

    @contextmanager
    def noting(self, test: str) -> Iterator[None]:
        """Note within the block what a test comes to."""
        made = InputError.__init__

        def noted(error: InputError, *args: Any) -> None:
            if place := place_of(sys._getframe(1)):
                self.reached[place].add(test)
            if isinstance(cause := sys.exception(), ValidationError):
                for each in cause.errors():
                    key = ".".join(str(part) for part in each["loc"] if isinstance(part, str))
                    self.keys[f"{key}: {each['type']}"].add(test)
            made(error, *args)

        InputError.__init__ = noted  # type: ignore[method-assign]
        try:
            yield
        finally:
            InputError.__init__ = made  # type: ignore[method-assign]

    def missed(self) -> list[str]:
        """Return the places that no test came to, each with what is made there."""
        left = [place for place in every_place().items() if place[0] not in self.reached]
        return [f"{file}:{line}: {name}: {text}" for (file, name, line), text in sorted(left)]


def main() -> None:
    """Run the tests that are named, and print the places that they do not come to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    given, tests = parser.parse_known_args()
    os.chdir(ROOT)
    recorder = Recorder()
    code = pytest.main(["-p", "no:cacheprovider", *tests], plugins=[recorder])
    every = every_place()
    print(*recorder.missed(), sep="\n")
    print(f"{len(recorder.reached)} of {len(every)} places reached, {len(recorder.keys)} keys")
    if given.json:
        rows = [[*place, every.get(place, ""), sorted(t)] for place, t in recorder.reached.items()]
        keys = {key: sorted(tests) for key, tests in recorder.keys.items()}
        given.json.write_text(json.dumps({"places": sorted(rows), "keys": keys}, indent=1))
    sys.exit(code)


if __name__ == "__main__":
    main()
