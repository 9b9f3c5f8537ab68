"""Records which tests call which functions: `pytest -p tests.mutants.contexts`.

A fixture's calls count for every test that uses it, though it is set up once. What other
processes call is not seen.
"""

import json
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "contexts"
PRODUCT = tuple(f"{ROOT / room}/" for room in ("probe", "scenarios", "figures"))


class Contexts:
    """The functions that each test calls, as `file:line`, and its seconds."""

    def __init__(self):
        self.called = set()
        self.by_fixture = defaultdict(set)
        self.tests = []
        self.tests_of = defaultdict(list)

    def trace(self, frame, _event, _argument):
        code = frame.f_code
        if code.co_filename.startswith(PRODUCT):
            self.called.add((code.co_filename, code.co_firstlineno))

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        before = self.called
        self.called = set()
        try:
            return (yield)
        finally:
            self.by_fixture[fixturedef.argname] = self.called
            self.called = self.called | before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.called = set()
        start = time.perf_counter()
        sys.settrace(self.trace)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            seconds = round(time.perf_counter() - start, 3)
            called = set(self.called)
            for name in getattr(item, "fixturenames", ()):
                called |= self.by_fixture[name]
            for file, line in called:
                place = f"{Path(file).relative_to(ROOT)}:{line}"
                self.tests_of[place].append(len(self.tests))
            self.tests.append((item.nodeid, seconds))

    def pytest_sessionfinish(self, session):
        if self.tests:
            worker = getattr(session.config, "workerinput", {}).get("workerid", "main")
            FOLDER.mkdir(parents=True, exist_ok=True)
            recorded = {"tests": self.tests, "tests_of": self.tests_of}
            (FOLDER / f"{worker}.json").write_text(json.dumps(recorded))


def pytest_configure(config):
    config.pluginmanager.register(Contexts())


def recorded():
    """Return the tests (name, seconds) that call each function, quickest first."""
    tests_of = defaultdict(list)
    for path in FOLDER.glob("*.json"):
        content = json.loads(path.read_text())
        for place, indices in content["tests_of"].items():
            tests_of[place] += [tuple(content["tests"][index]) for index in indices]
    return {
        place: sorted(tests, key=lambda test: test[1])
        for place, tests in tests_of.items()
    }
