"""Moves every guard of the code by a step, and prints those that their test does not find.

    python -m tests.mutants.guards

Nothing of the code may be imported here: every process that runs tests is forked.
"""

import csv
import importlib
import tempfile
from pathlib import Path

from tests.mutants.__main__ import PRELOADED, copy_of_the_tree, outcome
from tests.mutants.changes import guards_of
from tests.mutants.contexts import PRODUCT, ROOT

LIST = ROOT / "tests" / "laws" / "guards.csv"


def listed_guards():
    """Return the list: file, guard, and the test that finds it moved, or why none does."""
    return list(csv.reader(LIST.read_text().splitlines()))


def guards():
    """Yield every guard of the code with its file, text and the change that moves it."""
    for path in sorted(path for room in PRODUCT for path in Path(room).rglob("*.py")):
        file = str(path.relative_to(ROOT))
        for text, change in guards_of(file, path.read_bytes()):
            yield file, text, change


def main():
    for name in PRELOADED:
        importlib.import_module(name)
    pairs = zip(listed_guards(), guards(), strict=True)
    with tempfile.TemporaryDirectory() as folder:
        copy = copy_of_the_tree(Path(folder).resolve())
        for (*_, test), (file, text, change) in pairs:
            source = (copy / file).read_bytes()
            (copy / file).write_bytes(change.applied(source))
            word, _ = outcome([test], copy) if "::" in test else ("found", "")
            (copy / file).write_bytes(source)
            if word != "found":
                print(f"{word}: {file}: {text}: {test}", flush=True)


if __name__ == "__main__":
    main()
