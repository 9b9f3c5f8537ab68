"""The speed of a sweep against the obvious one: its cost once, and per epoch."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from probe.examples import Examples
from probe.training.loop import Recipe
from tests.bench import obvious, product
from tests.bench.section import Row, Section
from tests.bench.subjects import BATCH, Subject
from tests.bench.timing import interleaved

EXAMPLES, EPOCHS = 60_000, 5
EVALUATED = 6  # training examples per test example, as in MNIST
WAYS = ("obvious", "fp32", "bf16")


Run = Callable[[int, int], object]


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Seconds of a sweep: fixed + example * n + step * n * epochs, for n training examples.

    fixed: copying and cutting; example: what is done once (filling the caches, evaluating); step:
    one example in one epoch, over all features.
    """

    fixed: float
    example: float
    step: float

    def total(self, n: int, epochs: int) -> float:
        """Return what the sweep takes in all, in seconds."""
        return self.fixed + self.example * n + self.step * n * epochs


def _costs(
    runs: Mapping[str, Run], n: int, more: Mapping[str, int], repeats: int
) -> dict[str, Cost]:
    """Time each run (n, epochs) at three sizes, from which its three costs follow.

    more: by how many epochs the longer run of each is longer.
    """
    sizes = {way: ((n, 1), (n, 1 + more[way]), (2 * n, 1)) for way in runs}
    actions = {
        f"{way} {k}": partial(run, *sizes[way][k]) for k in range(3) for way, run in runs.items()
    }
    times = interleaved(actions, repeats)
    solved = {}
    for way in runs:
        base, longer, larger = (times[f"{way} {k}"] for k in range(3))
        step = (longer - base) / more[way] / n
        example = max(0.0, (larger - base) / n - step)
        solved[way] = Cost(fixed=max(0.0, base - n * (step + example)), example=example, step=step)
    return solved


def _sweep_costs(subject: Subject, features: Sequence[str], repeats: int) -> dict[str, Cost]:
    """Return the costs of a sweep over `features`: obvious, and the product's in each precision."""
    model, data = subject.model(), subject.images(2 * subject.n)

    def run(way: str, n: int, epochs: int) -> None:
        precision = "bf16" if way == "bf16" else "fp32"
        recipe = Recipe(epochs=epochs, batch_size=BATCH, init="murata", precision=precision)  # type: ignore[arg-type]
        train, test = (Examples(data.x[:k], data.y[:k]) for k in (n, n // EVALUATED))
        sweep = obvious.sweep if way == "obvious" else product.sweep
        sweep(model, features, train, test, recipe, 0)

    # A step behind the last feature alone is so short that it takes many to be seen.
    many = 2 if len(features) > 1 else 150
    more = {way: 2 if way == "obvious" else many for way in WAYS}
    return _costs({way: partial(run, way) for way in WAYS}, subject.n, more, repeats)


def section(subjects: Sequence[Subject], repeats: int) -> Section:
    """Compare seconds of an epoch, of what is done once, and of a whole sweep."""
    return Section(
        title=f"Seconds at {EXAMPLES:,} examples and {EPOCHS} epochs, and times as fast as obvious",
        columns=("network, behind, way", "all-in x", "epoch x", "all-in", "epoch", "once"),
        rows=_rows(subjects, repeats),
    )


def _rows(subjects: Sequence[Subject], repeats: int) -> Iterator[Row]:
    for subject in subjects:
        stages = obvious.stages(subject.model())
        for title, features in (("all features", stages), (stages[-1], stages[-1:])):
            found = _sweep_costs(subject, features, repeats)
            for way, cost in found.items():
                cells = _cells(cost, found["obvious"])
                yield (f"{subject.network}, {title}, {way}", *cells), vars(cost)


def _cells(cost: Cost, base: Cost) -> list[str]:
    total, base_total = cost.total(EXAMPLES, EPOCHS), base.total(EXAMPLES, EPOCHS)
    return [
        f"{base_total / total:.2f}x",
        f"{base.step / cost.step:.2f}x",
        f"{total:.1f}",
        f"{cost.step * EXAMPLES:.2f}",
        f"{cost.fixed + cost.example * EXAMPLES:.2f}",
    ]
