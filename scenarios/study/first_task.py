"""The training on the first task, done once for all learners of a run that begin alike."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from probe.by_layer.code import code_hash
from probe.by_layer.jobs import Job
from probe.by_layer.plan import Plan
from probe.by_layer.store import Store
from probe.examples import Examples
from probe.tasks import Task
from probe.training.costs import OpsMeter
from scenarios.learners.base import Learner

_MODULES = (__name__, "scenarios.learners.continual")


@dataclass(kw_only=True)
class FirstTask:
    """A training on the first task, kept in the run directory for the jobs that come later.

    store: of what determines it; two processes that do it at the same time write the same. spared:
    the seconds that the training took which was found there.
    """

    store: Store
    spared: float = 0.0

    def train(self, learner: Learner, task: Task, data: Examples, meter: OpsMeter) -> None:
        """Train a learner, or give it the weights, the losses and the counts of that training."""
        kept = self.store.load_checkpoint(1)
        if kept and kept.learner and kept.code == self.store.code:
            learner.model.load_state_dict(kept.model)
            total, steps = kept.learner["counts"].tolist()
            meter.total, meter.steps = meter.total + total, meter.steps + steps
            self.spared, *losses = kept.learner["seconds and losses"].tolist()
            learner.losses = tuple(losses)
            return
        before, now = meter.total, clock_on(task.train.y.device)
        start = now()
        learner.train(task, data, meter)
        seconds = torch.tensor([now() - start, *learner.losses], dtype=torch.float64)
        counts = torch.tensor([meter.total - before, meter.steps])
        own = {"counts": counts, "seconds and losses": seconds}
        self.store.save_checkpoint(1, learner.model.state_dict(), own)


def first_task(plan: Plan, job: Job, learner: Learner, own: Store) -> FirstTask | None:
    """Return the training of a job's first task; None for a learner that trains in its own way."""
    way = vars(type(learner)).get("first_task")
    if way is None or job.without == 1:
        return None
    record = plan.record(job.learner, job.order, job.tasks, job.seed)
    for other in ("learner", "retraining", "storage"):
        record.pop(other, None)
    record["first task"] = [way, getattr(learner.settings, "competing", "")]
    return FirstTask(store=Store(own.root, "first-task", record, code_hash(_MODULES)))


def clock_on(device: torch.device) -> Callable[[], float]:
    """Return the clock, in seconds, for the work of a worker of one thread on a device."""
    # What else a machine does is not its time; of a GPU's work the processor knows nothing.
    return time.process_time if device.type == "cpu" else time.perf_counter
