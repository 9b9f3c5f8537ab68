"""Kinds of kills carried out one run directory after the other, each with its witness."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scenarios.options import RunOptions
from tests.scenarios.execution.helpers import TINY, tables
from tests.soak.kinds import KINDS, Place, Start, finish
from tests.soak.laws import Broken, Witness

Way = tuple[Start, RunOptions]
"""How the study is started: typed or forked, and with which flags."""

# Long enough that a kill hits every part of it.
_EPOCHS = ("epochs = 1", "epochs = 20")


@dataclass
class Outcome:
    """What a kind of kill has come to."""

    kind: str
    kills: int = 0
    runs: int = 0
    files: int = 0
    seconds: float = 0.0
    broken: list[str] = field(default_factory=list)

    def shown(self) -> str:
        return (
            f"{self.kind:30} {self.kills:5} {self.runs:5} {self.files:10} {self.seconds:8.0f}"
            + "".join(f"\n  broken: {law}" for law in self.broken)
        )


class Campaign:
    """A study, its undisturbed tables, and how long it takes by each way to start it."""

    def __init__(self, folder: Path, seed: int, ways: Sequence[Way]) -> None:
        self._folder = folder
        self._seed = seed
        self._study = folder / "study.toml"
        self._study.write_text(TINY.read_text().replace(*_EPOCHS), encoding="utf-8")
        self._tables: dict[str, bytes] = {}
        self._lengths: dict[tuple[str, str | None], float] = {}
        for by, options in ways:
            # The first is slowed down by what is read for the first time.
            self._lengths[by.__name__, options.executor] = min(
                self._undisturbed(by, options, number) for number in range(2)
            )

    def lengths_shown(self) -> str:
        return ", ".join(f"{by} {what} {t:.1f} s" for (by, what), t in self._lengths.items())

    def carry_out(self, kind: str, wanted: int, until: float) -> Outcome:
        """Kill until it was done as often as wanted, or the clock says `until`."""
        outcome, start = Outcome(kind), time.monotonic()
        while outcome.kills < wanted and time.monotonic() < until:
            place = self.place(f"{list(KINDS).index(kind)}-{outcome.runs}")
            witness = self.witness(place.root)
            try:
                for killed in KINDS[kind](place):
                    outcome.kills += killed
                    witness.look()
                witness.end()
                shutil.rmtree(place.root)
            except Broken as error:
                outcome.broken.append(f"{place.root.name}: {error}")
            outcome.runs += 1
            outcome.files += witness.files
        outcome.seconds = time.monotonic() - start
        return outcome

    def witness(self, root: Path) -> Witness:
        """Return one who has not seen the run directory yet."""
        return Witness(root, self._tables)

    def place(self, name: str) -> Place:
        """Return where to run the study next, with random moments of its own."""
        chance = random.Random(f"{self._seed} {name}")
        return Place(self._study, self._folder / name, chance, self._lengths)

    def _undisturbed(self, by: Start, options: RunOptions, number: int) -> float:
        place = self.place(f"whole-{by.__name__}-{options.executor}-{number}")
        start = time.monotonic()
        finish(place.start(options, by))
        length = time.monotonic() - start
        self._tables = self._tables or tables(place.root)
        self.witness(place.root).end()
        return length
