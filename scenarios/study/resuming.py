"""Checkpoints of learners: the state after a task, saved and restored.

After every task the model's weights and the rest of the learner's state (exemplars, importances,
earlier models) are saved as tensors. A restored learner continues as if it had never been stopped,
to the bit. A checkpoint may be of an earlier version of the code, or be damaged in a way that its
hash does not show, so it is loaded into a fresh learner and checked; one that does not fit is set
aside, and an earlier one is tried. `probe.by_layer.store` keeps files and hashes.
"""

from collections.abc import Callable, Sequence

import torch

from probe.by_layer.measurement import TrainingCost
from probe.by_layer.store import Store
from probe.tasks import Task
from scenarios.learners.base import Learner

# Errors of a failing device; the second is a nameless RuntimeError in older torch.
_DEVICE_FAILED = (
    torch.OutOfMemoryError,
    getattr(torch, "AcceleratorError", torch.OutOfMemoryError),
)


def save(store: Store, tasks_seen: int, learner: Learner, cost: TrainingCost) -> None:
    """Save the state of a learner after a task, and the resources spent on it.

    Raises NotWritten if it cannot be written.
    """
    state = {**learner.state(), **cost.to_state()}
    store.save_checkpoint(tasks_seen, learner.model.state_dict(), state)


def restored(
    fresh: Callable[[], Learner], tasks_seen: int, past: Sequence[Task], store: Store
) -> tuple[Learner, TrainingCost | None] | None:
    """Return a learner from the checkpoint after so many tasks, with the cost of the last.

    Where the checkpoint no longer has the learner's state, it has learned nothing but the model.

    fresh: makes a learner that has learned nothing; past: the tasks learned until then, on the
    learner's device. Returns None without a checkpoint, and if it cannot be restored: it is set
    aside then. Raises the errors of a failing device, such as running out of memory.
    """
    saved = store.load_checkpoint(tasks_seen)
    if saved is None:
        return None
    # Moved before it is tried: a device that fails says nothing about the checkpoint.
    device = past[0].train.y.device
    states = saved.model, saved.learner or {}
    model, own = ({n: x.to(device) for n, x in state.items()} for state in states)
    # Each has its own: one that was restored in part is not used.
    learner = fresh()
    try:
        # Removed first: the rest must be exactly the learner's state.
        cost = None if saved.learner is None else TrainingCost.of_state(own)
        # Strict: it raises for a weight that is missing, superfluous or of another shape.
        learner.model.load_state_dict(model)
        if cost:
            learner.restore(own, past)
            if learner.state().keys() != own.keys():
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
