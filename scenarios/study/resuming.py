"""Checkpoints of learners: the state after a task, saved and restored.

After every task the model's weights and the rest of the learner's state (exemplars, importances,
earlier models) are saved as tensors. A restored learner continues as if it had never been stopped,
to the bit. A checkpoint may be of an earlier version of the code, or be damaged in a way that its
hash does not show, so it is loaded into a fresh learner and checked; one that does not fit is set
aside, and an earlier one is tried. `probe.by_layer.store` keeps files and hashes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from probe.by_layer.measurement import Spent
from probe.by_layer.store import Checkpoint, Store
from probe.tasks import Task
from scenarios.learners.base import Learner

# Errors of a failing device; the second is a nameless RuntimeError in older torch.
_DEVICE_FAILED = (
    torch.OutOfMemoryError,
    getattr(torch, "AcceleratorError", torch.OutOfMemoryError),
)


@dataclass(frozen=True, kw_only=True)
class Resumed:
    """A learner to continue with.

    learner: restored, or fresh; done: the number of tasks learned, 0 to T; spent: the resources for
    the last of them, None if there is none.
    """

    learner: Learner
    done: int
    spent: Spent | None


def keep(store: Store, step: str, learner: Learner, spent: Spent) -> None:
    """Save the state of a learner after a task, and the resources spent on it.

    step: the name of the measurement, `step-i` after i tasks. Raises NotWritten if it cannot be
    written.
    """
    store.save_checkpoint(step, learner.model.state_dict(), {**learner.state(), **spent.to_state()})


def resumed(
    fresh: Callable[[], Learner], steps: Sequence[str], tasks: Sequence[Task], store: Store
) -> Resumed:
    """Return a learner restored from the latest of its checkpoints, or fresh without any.

    fresh: makes a learner that has learned nothing; steps: the names of the steps so far, from
    `step-0`; tasks: those that are learned before each of the others. A checkpoint that it cannot
    be restored from is set aside and an earlier one taken.
    """
    for done in range(len(steps) - 1, 0, -1):
        if found := kept(fresh, steps[done], tasks[:done], store):
            return found
    return Resumed(learner=fresh(), done=0, spent=None)


def kept(
    fresh: Callable[[], Learner], step: str, past: Sequence[Task], store: Store
) -> Resumed | None:
    """Return a learner restored from the checkpoint of a step, None without one.

    past: the tasks learned until then, on the learner's device. A checkpoint that cannot be
    restored is set aside. Raises the errors of a failing device, such as running out of memory.
    """
    saved = store.load_checkpoint(step)
    if saved is None:
        return None
    # Moved before it is tried: a device that fails says nothing about the checkpoint.
    device = past[0].train.y.device
    model, own = ({n: x.to(device) for n, x in s.items()} for s in (saved.model, saved.learner))
    here = Checkpoint(model, own, saved.code)
    # Each has its own: one that was restored in part is not used.
    learner = fresh()
    try:
        spent = _restore(learner, here, past)
    # The checkpoint may be whole: it is not set aside, and the job is tried again.
    except _DEVICE_FAILED:
        raise
    except (RuntimeError, LookupError, ValueError, TypeError, OverflowError) as error:
        reason = f"the learner cannot be restored from it ({type(error).__name__})"
        store.set_checkpoint_aside(step, reason)
        return None
    store.continue_from(saved)
    return Resumed(learner=learner, done=len(past), spent=spent)


def _restore(learner: Learner, saved: Checkpoint, past: Sequence[Task]) -> Spent:
    """Restore a learner that has learned nothing; raises almost anything if that is not possible.

    The learner gets its state and its past tasks. Returns the resources spent on the last task.
    """
    state = dict(saved.learner)
    # Removed first: the rest must be exactly the learner's state.
    spent = Spent.of_state(state)
    # Strict: it raises for a weight that is missing, superfluous or of another shape.
    learner.model.load_state_dict(saved.model)
    learner.restore(state, past)
    if learner.state().keys() != state.keys():
        raise ValueError("it holds what the learner does not keep")
    return spent
