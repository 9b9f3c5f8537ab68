"""Where a job goes on: a learner as it was after a task, kept in a checkpoint and taken back.

After every task the model's weights and all that the learner carries (exemplars, importances,
earlier models) are kept as tensors. A learner that is restored goes on as if it had never been
stopped, to the bit. A checkpoint may be from an earlier version of the code or be damaged in a way
that its hash does not show, so it is tried on a fresh learner and checked; one that does not fit is
set aside, and the one before it is tried. `scenarios.study.job` uses this; files and hashes are the
business of `probe.by_layer.store`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from probe.by_layer.measurement import Spent
from probe.by_layer.store import Checkpoint, Store
from probe.tasks import Task
from scenarios.learners.base import Learner, of_kind

# What a device says that fails; the second is a RuntimeError without a name in older torch.
_DEVICE_FAILED = (
    torch.OutOfMemoryError,
    getattr(torch, "AcceleratorError", torch.OutOfMemoryError),
)


@dataclass(frozen=True, kw_only=True)
class Resumed:
    """A learner that goes on.

    learner: restored, or fresh; done: how many tasks it has learned, 0 to T; spent: what the last
    of them took, None if there was none.
    """

    learner: Learner
    done: int
    spent: Spent | None


def keep(store: Store, step: str, learner: Learner, spent: Spent) -> None:
    """Keep what a learner is after a task, and what was spent on it.

    step: the name of the part, `step-i` after i tasks. Raises NotWritten if it cannot be written.
    """
    store.save_checkpoint(step, learner.model.state_dict(), {**learner.state(), **spent.to_state()})


def resumed(
    fresh: Callable[[], Learner],
    steps: Sequence[str],
    tasks: Sequence[Task],
    store: Store,
) -> Resumed:
    """Return a learner restored from the latest checkpoint of these steps, or else a fresh one.

    fresh: makes a learner that has learned nothing; steps: names, from `step-0`; tasks: what is
    learned before each of the others. A checkpoint that it cannot be restored from is set aside and
    an earlier one taken. A learner cannot be taken back to an earlier step.
    """
    for done in range(len(steps) - 1, 0, -1):
        if found := kept(fresh, steps[done], tasks[:done], store):
            return found
    return Resumed(learner=fresh(), done=0, spent=None)


def kept(
    fresh: Callable[[], Learner], step: str, past: Sequence[Task], store: Store
) -> Resumed | None:
    """Return a learner restored from the checkpoint of a step, None without one.

    past: the tasks learned until then, on the device that the learner is to be on. A checkpoint
    that it cannot be restored from is set aside. Raises what a device raises that fails, as by
    running out of memory.
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

    The learner takes its own state and knows the tasks of the past again. Returns what was spent on
    the last task.
    """
    state = dict(saved.learner)
    # Taken out first: what is left must be the learner's own state, all of it.
    spent = Spent.of_state(state)
    # Strict: it raises for a weight that is missing, superfluous or of another shape.
    learner.model.load_state_dict(saved.model)
    learner.restore(state, past)
    if learner.state().keys() != state.keys():
        raise ValueError("it holds what the learner does not keep")
    _check_shapes(learner, state, past)
    return spent


def _check_shapes(learner: Learner, state: Mapping[str, Tensor], past: Sequence[Task]) -> None:
    """Raise ValueError for a state that would be used only later, and then not fit."""
    trained = {n: p.shape for n, p in learner.model.named_parameters() if p.requires_grad}
    # What belongs to a parameter is called after it, as `importance.output.weight`.
    kinds = {name.partition(".")[0] for name in state if name.partition(".")[2] in trained}
    for kind in kinds:
        if {name: tensor.shape for name, tensor in of_kind(state, kind).items()} != trained:
            raise ValueError(f"it does not hold {kind} for the model's parameters")
    if "memory.x" in state:
        x, y = state["memory.x"], state["memory.y"]
        # Exemplars are used by the next task's training: here the error can still name the
        # checkpoint.
        if x.shape[1:] != past[0].train.x.shape[1:] or not set(y.tolist()) <= set(learner.seen):
            raise ValueError("it holds exemplars that are none of the tasks learned")
