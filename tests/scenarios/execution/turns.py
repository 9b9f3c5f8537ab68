"""Threads of which one runs at a time, as far as its next step, in an order that is chosen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise


class Turns:
    """Runs actions step by step; `choose` gets who can go on and who did last."""

    def __init__(self, choose: Callable[[Sequence[int], int], int]) -> None:
        self._choose = choose
        self._go: dict[int, threading.Semaphore] = {}
        self._stopped = threading.Semaphore(0)
        self._number = threading.local()
        self.errors: list[BaseException] = []

    def step(self) -> None:
        """End a step of the thread that calls; outside `run` it does nothing."""
        number = getattr(self._number, "own", None)
        if number is not None:
            self._stopped.release()
            self._go[number].acquire()

    @property
    def own(self) -> int | None:
        """The number of the action whose thread calls."""
        return getattr(self._number, "own", None)

    def run(self, actions: Sequence[Callable[[], None]]) -> None:
        left = list(range(len(actions)))
        self._go = {number: threading.Semaphore(0) for number in left}
        threads = [
            threading.Thread(target=self._act, args=(number, action, left), daemon=True)
            for number, action in enumerate(actions)
        ]
        for thread in threads:
            thread.start()
            self._stopped.acquire()
        last = 0
        while left:
            last = self._choose(tuple(left), last)
            self._go[last].release()
            self._stopped.acquire()
        for thread in threads:
            thread.join()

    def _act(self, number: int, action: Callable[[], None], left: list[int]) -> None:
        self._number.own = number
        try:
            self.step()
            action()
        except BaseException as error:
            self.errors.append(error)
        finally:
            left.remove(number)
            self._stopped.release()


def orders(switches: int, limit: int = 10_000) -> Iterator[Callable[[Sequence[int], int], int]]:
    """Yield every order in which a thread that could go on is interrupted so many times at most.

    Each must be run to its end before the next is asked for.
    """
    planned: list[list[int]] = [[]]
    while planned and limit:
        limit -= 1
        prefix = planned.pop()
        taken: list[int] = []
        branches: list[list[int]] = []

        def choose(
            ready: Sequence[int],
            last: int,
            prefix: list[int] = prefix,
            taken: list[int] = taken,
            branches: list[list[int]] = branches,
        ) -> int:
            place = len(taken)
            chosen = last if last in ready else ready[0]
            if place < len(prefix):
                chosen = prefix[place]
            else:
                branches.extend([*taken, other] for other in ready if other != chosen)
            taken.append(chosen)
            return chosen

        yield choose
        planned.extend(branch for branch in branches if interruptions(branch, taken) <= switches)
    assert limit, "there are more orders than that"


def interruptions(branch: Sequence[int], taken: Sequence[int]) -> int:
    """Return how often an order changes from a thread to another before that one has ended.

    Whether a thread has ended is told by the whole order that was run.
    """
    ended = {number: max(k for k, who in enumerate(taken) if who == number) for number in taken}
    return sum(
        before != after and k < ended.get(before, -1)
        for k, (before, after) in enumerate(pairwise(branch))
    )
