"""Checkpoints of learners: the state after a task, restored, and the first task's.

After every task the model's weights and the rest of the learner's state (exemplars, importances,
earlier models) are saved as tensors. A restored learner continues as if it had never been stopped,
to the bit. A checkpoint may be of an earlier version of the code, or be damaged in a way that its
hash does not show, so it is loaded into a fresh learner and checked; one that does not fit is set
aside, and an earlier one is tried. `probe.by_layer.store` keeps files and hashes.

The training on the first task is done once for all learners that train on it in the same way.
"""

import time
from collections.abc import Callable, Sequence

import torch

from probe.by_layer.code import code_hash
from probe.by_layer.jobs import Job
from probe.by_layer.measurement import TrainingCost
from probe.by_layer.plan import Plan
from probe.by_layer.store import Store
from probe.examples import Examples
from probe.tasks import Task
from probe.training.costs import OpsMeter
from scenarios.learners.base import Learner

# Errors of a failing device; the second is a nameless RuntimeError in older torch.
_FAILED = getattr(torch, "AcceleratorError", torch.OutOfMemoryError)
_DEVICE_FAILED = (torch.OutOfMemoryError, _FAILED)


_MODULES = (__name__, "scenarios.learners.continual")


def restored(
    fresh: Callable[[], Learner], tasks_seen: int, past: Sequence[Task], store: Store
) -> tuple[Learner, TrainingCost | None] | None:
    """Restore a learner from the checkpoint after some tasks, with the cost of the last task.

    If the checkpoint no longer has the learner's state, only the model is restored. Errors of a
    failing device, such as running out of memory, are raised.

    Args:
        fresh: Makes a learner that has learned nothing.
        tasks_seen: The number of tasks learned.
        past: These tasks, on the learner's device.
        store: The store of the job's results.

    Returns:
        The learner and the cost, or None without a checkpoint or if it cannot be restored; it is
        then set aside.
    """
    saved = store.load_checkpoint(tasks_seen)
    if saved is None:
        return None
    # Moved before it is tried: a device that fails says nothing about the checkpoint.
    device = past[0].train.y.device
    model = {name: tensor.to(device) for name, tensor in saved.model.items()}
    state = {name: tensor.to(device) for name, tensor in (saved.learner or {}).items()}
    # Each has its own: one that was restored in part is not used.
    learner = fresh()
    try:
        # Removed first: the rest must be exactly the learner's state.
        cost = None if saved.learner is None else TrainingCost.of_state(state)
        # Strict: it raises for a weight that is missing, superfluous or of another shape.
        learner.model.load_state_dict(model)
        if cost:
            learner.restore(state, past)
            if learner.state().keys() != state.keys():
                raise ValueError("it holds what the learner does not keep")
    # The checkpoint may be whole: it is not set aside, and the job is tried again.
    except _DEVICE_FAILED:
        raise
    except (RuntimeError, LookupError, ValueError, TypeError, OverflowError) as error:
        reason = f"the learner cannot be restored from it ({type(error).__name__})"
        store.set_checkpoint_aside(tasks_seen, reason)
        return None
    store.continue_from(saved)
    return learner, cost


def train_first_task(
    store: Store, learner: Learner, task: Task, data: Examples, meter: OpsMeter
) -> float:
    """Train a learner on its first task, or load the weights, losses and counts of that training.

    Args:
        store: The store of the training, see `first_task_store`; two processes that train at the
            same time write the same files.
        learner: The learner.
        task: The first task.
        data: The examples to train on.
        meter: Counts the multiply-adds.

    Returns:
        The seconds that a loaded training took, 0 for a new one.
    """
    saved = store.load_checkpoint(1)
    if saved and saved.learner and saved.code == store.code:
        learner.model.load_state_dict(saved.model)
        total, steps = saved.learner["counts"].tolist()
        meter.total, meter.steps = meter.total + total, meter.steps + steps
        seconds, *losses = saved.learner["seconds and losses"].tolist()
        learner.losses = tuple(losses)
        return float(seconds)
    before, now = meter.total, clock_on(task.train.y.device)
    start = now()
    learner.train(task, data, meter)
    state = {
        "counts": torch.tensor([meter.total - before, meter.steps]),
        "seconds and losses": torch.tensor([now() - start, *learner.losses], dtype=torch.float64),
    }
    store.save_checkpoint(1, learner.model.state_dict(), state)
    return 0.0


def first_task_store(plan: Plan, job: Job, learner: Learner, store: Store) -> Store | None:
    """Return the store of the training on a job's first task, kept for later jobs.

    Args:
        plan: The plan.
        job: One of its jobs.
        learner: The job's learner.
        store: The store of the job's results.

    Returns:
        The store for everything that determines it; None if the learner trains in its own way.
    """
    loss = vars(type(learner)).get("first_task")
    if loss is None or job.without == 1:
        return None
    record = plan.record(job.learner, job.order, job.tasks, job.seed)
    for key in ("learner", "retraining", "storage"):
        record.pop(key, None)
    record["first task"] = [loss, getattr(learner.settings, "loss_classes", "")]
    return Store(store.root, "first-task", record, code_hash(_MODULES))


def clock_on(device: torch.device) -> Callable[[], float]:
    """Return the clock, in seconds, for the work of a worker of one thread on a device."""
    # What else a machine does is not its time; of a GPU's work the processor knows nothing.
    return time.process_time if device.type == "cpu" else time.perf_counter
