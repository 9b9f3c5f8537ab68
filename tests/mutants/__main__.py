"""Plants wrong lines one by one, and prints those that no test finds: `make mutants N=80 SEED=1`.

Half of the lines are in files that changed last, half of them where one function hands
something to another; the same seed plants the same lines. For each, the tests that call
the function run, those of the same folder first and the quickest of them, up to `SECONDS`.
"""

import argparse
import importlib
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from itertools import chain
from pathlib import Path

import pytest

from tests.mutants.changes import changes_of
from tests.mutants.contexts import PRODUCT, ROOT, recorded

SECONDS = 240
# Imported once: every process that runs tests of a wrong line is forked.
PRELOADED = (
    "torch",
    "torchvision",
    "pandas",
    "sklearn.linear_model",
    "scipy.stats",
    "matplotlib.pyplot",
    "hypothesis",
)


def git(*arguments):
    """Return the lines that git prints."""
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return done.stdout.splitlines()


def planted(count, seed, since):
    """Return the changes to plant."""
    generator = random.Random(seed)
    rooms = [Path(folder).name for folder in PRODUCT]
    recent = set(git("diff", "--name-only", since, "--", *rooms))
    pools = {}
    for file in sorted(git("ls-files", *rooms)):
        if file.endswith(".py"):
            for change in changes_of(file, (ROOT / file).read_bytes()):
                pools.setdefault((file in recent, change.joins), []).append(change)
    chosen = []
    for number in range(count):
        pool = pools.get((number % 2 == 0, number // 2 % 2 == 0))
        if pool:
            chosen.append(pool.pop(generator.randrange(len(pool))))
    return chosen


def names_of_tests(change, tests_of):
    """Return the tests that call the changed function, or any of the module outside of one."""
    if change.function:
        tests = tests_of.get(f"{change.file}:{change.function}", [])
    else:
        calling = set()
        for place, own in tests_of.items():
            if place.startswith(f"{change.file}:"):
                calling |= set(own)
        tests = sorted(calling, key=lambda test: test[1])
    # Those of a file in one go: its fixtures are set up once, as in a run of all tests.
    names_of_file = defaultdict(list)
    for name, _ in tests:
        names_of_file[name.partition("::")[0]].append(name)
    mirrored = f"tests/{change.file}"
    near = sorted(
        names_of_file, key=lambda file: -len(os.path.commonpath([mirrored, file]))
    )
    return [*chain(*map(names_of_file.get, near))]


def outcome(tests, copy):
    """Return in a word how the tests end in a copy of the tree, and the first that failed."""
    said = copy / "said.txt"
    process = os.fork()
    if process == 0:
        os.setsid()
        os.chdir(copy)
        # Processes that tests start import the changed line, too.
        os.environ["PYTHONPATH"] = str(copy)
        terminal = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(terminal, 1)
        os.dup2(terminal, 2)
        options = ["-x", "-q", "-m", "not soak", "-p", "no:cacheprovider", "--tb=no"]
        os._exit(pytest.main([*options, *tests]))
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            break
        time.sleep(0.1)
    else:
        os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)
        return "time is up", ""
    code = os.waitstatus_to_exitcode(status)
    if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        return "cannot be tested, record the calls again", ""
    failed = re.search(r"^(FAILED|ERROR) (\S*)", said.read_text(), re.MULTILINE)
    return "survives" if code == 0 else "found", failed[2] if failed else ""


def copy_of_the_tree(folder):
    """Copy what git knows into a folder, and return it."""
    for file in git("ls-files"):
        target = folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, target)
    return folder


def main():
    """Plant lines, and print how many were found in each room."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--since", default="HEAD~20")
    chosen = parser.parse_args()
    tests_of = recorded()
    for name in PRELOADED:
        importlib.import_module(name)
    counts = Counter()
    with tempfile.TemporaryDirectory() as folder:
        copy = copy_of_the_tree(Path(folder).resolve())
        for change in planted(chosen.count, chosen.seed, chosen.since):
            source = (copy / change.file).read_bytes()
            (copy / change.file).write_bytes(change.applied(source))
            tests = names_of_tests(change, tests_of)
            word, test = outcome(tests, copy) if tests else ("no test calls it", "")
            (copy / change.file).write_bytes(source)
            counts[change.file.partition("/")[0], word] += 1
            print(
                f"{word}: {change.file}:{change.line}", test or f"({len(tests)} tests)"
            )
            print(f"    {change.before!r}\n    {change.after!r}", flush=True)
    for (room, word), count in sorted(counts.items()):
        print(f"{room}: {count} {word}")


if __name__ == "__main__":
    main()
