"""Notes on networks that were hardly trained, or not as the others were."""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from statistics import fmean, median

from probe.by_layer.plan import OFFLINE, UNTRAINED
from probe.results.result import Result, own_head
from probe.tables.rows import NoteRow


def sanity_notes(results: Sequence[Result]) -> Iterator[NoteRow]:
    """Yield a note on each run whose output makes its layers doubtful.

    - near chance on the task just learned, or offline on all tasks, by two standard errors;
    - collapsed: above chance by less than half of what the median run of its learner is, on the
      tasks just learned;
    - offline training below a learner of the same seed by two standard errors of the difference.
    """
    learned = {id(r): _above_chance(r) for r in results}
    for result in results:
        run = partial(NoteRow, **result.job.columns, feature="")
        steps = [result.job.last] if result.job.offline else range(1, len(result.tasks) + 1)
        for step in steps if result.job.kind != UNTRAINED else ():
            if (found := _accuracy(result, step)) and found[0] <= found[1] + 2 * _error(*found[1:]):
                of = "all tasks" if result.job.offline else "the task just learned"
                yield run(
                    step=step,
                    note=f"its accuracy on {of} is near chance: compare labels, scaling of inputs "
                    f"and order of tasks with those it was trained with",
                )
        peers = [learned[id(r)] for r in results if r.job.learner == result.job.learner]
        own, typical = learned[id(result)], median(peers)
        if len(peers) > 2 and own < typical / 2:
            yield run(
                step=result.job.last,
                note="it collapsed: on the tasks just learned it is less than half as far above "
                "chance as the median run",
            )
    yield from _worse_offline(results)


def _worse_offline(results: Sequence[Result]) -> Iterator[NoteRow]:
    """Yield a note on each offline network that is worse than a learner of its seed."""
    for offline in (r for r in results if r.job.kind == OFFLINE):
        if (top := offline.output.get(offline.job.last)) is None:
            continue
        head = own_head(offline.job)
        runs: dict[str, list[float]] = {}
        for r in results:
            end = r.output.get(r.job.last)
            same = r.job.seed == offline.job.seed and own_head(r.job) == head
            if end and same and not r.job.offline and r.job.kind != UNTRAINED:
                runs.setdefault(r.job.learner, []).append(end.pra)
        for learner, values in runs.items():
            error = math.sqrt(2) * _error(fmean(values), sum(offline.test_sizes))
            if top.pra < fmean(values) - 2 * error:
                yield NoteRow(
                    **offline.job.columns,
                    feature="",
                    step=offline.job.last,
                    note=f"its accuracy is below that of {learner}: compare labels, scaling of "
                    f"inputs and order of tasks of the two; until then it is no ceiling",
                )


def _accuracy(result: Result, step: int) -> tuple[float, float, int] | None:
    """Return accuracy, chance and test examples: of the task just learned, offline of all."""
    found = result.output.get(step)
    if found is None or result.test_counts is None:
        return None
    classes, multi = [own for _, own in result.tasks], own_head(result.job) == "multi"
    if result.job.offline:
        return found.pra, 1 / len(set().union(*classes)), int(result.test_counts.sum())
    among = set().union(*classes[step - 1 if multi else 0 : step])
    size = int(result.test_counts[step - 1].sum())
    return float(found.accuracy[step - 1]), 1 / len(among), size


def _above_chance(result: Result) -> float:
    """Return the mean accuracy above chance on the tasks just learned; 0 where none is."""
    each = filter(None, (_accuracy(result, step + 1) for step in range(len(result.tasks))))
    return fmean([own[0] - own[1] for own in each] or [0.0])


def _error(accuracy: float, examples: int) -> float:
    return math.sqrt(accuracy * (1 - accuracy) / examples)  # binomial
