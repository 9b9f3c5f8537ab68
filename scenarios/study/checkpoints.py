"""Checkpoints of learners: the state after a task, saved and restored.

After every task the model's weights and the rest of the learner's state (exemplars, importances,
earlier models) are saved as tensors. A restored learner continues as if it had never been stopped,
to the bit. A checkpoint may be of an earlier version of the code, or be damaged in a way that its
hash does not show, so it is loaded into a fresh learner and checked; one that does not fit is set
aside, and an earlier one is tried. `probe.by_layer.store` keeps files and hashes.
"""

from collections.abc import Callable, Sequence

import torch

from probe.by_layer.measurement import Spent
from probe.by_layer.store import Store
from probe.tasks import Task
from scenarios.learners.base import Learner

# Errors of a failing device; the second is a nameless RuntimeError in older torch.
_DEVICE_FAILED = (
    torch.OutOfMemoryError,
    getattr(torch, "AcceleratorError", torch.OutOfMemoryError),
)


def save(store: Store, step: str, learner: Learner, spent: Spent) -> None:
    """Save the state of a learner after a task, and the resources spent on it.

    Args:
        store: Of the job's results.
        step: The name of the measurement, `step-i` after i tasks.
        learner: Its state.
        spent: On the task.

    Raises:
        NotWritten: It cannot be written.
    """
    store.save_checkpoint(step, learner.model.state_dict(), {**learner.state(), **spent.to_state()})


def restored(
    fresh: Callable[[], Learner], step: str, past: Sequence[Task], store: Store
) -> tuple[Learner, Spent | None] | None:
    """Return a learner from the checkpoint of a step, with the resources for its last task.

    Where the checkpoint no longer has the learner's state, it has learned nothing but the model.
    Errors of a failing device pass through, such as running out of memory.

    Args:
        fresh: Makes a learner that has learned nothing.
        step: The name of the measurement.
        past: The tasks learned until then, on the learner's device.
        store: Of the job's results.

    Returns:
        The learner and the resources; None without a checkpoint, and if it cannot be restored: it
        is set aside then.
    """
    saved = store.load_checkpoint(step)
    if saved is None:
        return None
    # Moved before it is tried: a device that fails says nothing about the checkpoint.
    device = past[0].train.y.device
    states = saved.model, saved.learner or {}
    model, state = ({n: x.to(device) for n, x in tensors.items()} for tensors in states)
    # Each has its own: one that was restored in part is not used.
    learner = fresh()
    try:
        # Removed first: the rest must be exactly the learner's state.
        spent = None if saved.learner is None else Spent.of_state(state)
        # Strict: it raises for a weight that is missing, superfluous or of another shape.
        learner.model.load_state_dict(model)
        if spent:
            learner.restore(state, past)
            if learner.state().keys() != state.keys():
                raise ValueError("it holds what the learner does not keep")
    # The checkpoint may be whole: it is not set aside, and the job is tried again.
    except _DEVICE_FAILED:
        raise
    except (RuntimeError, LookupError, ValueError, TypeError, OverflowError) as error:
        reason = f"the learner cannot be restored from it ({type(error).__name__})"
        store.set_checkpoint_aside(step, reason)
        return None
    store.continue_from(saved)
    return learner, spent
