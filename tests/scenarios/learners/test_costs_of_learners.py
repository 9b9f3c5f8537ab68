"""What learning a task cost: bytes and multiply-adds by hand, and the criteria that follow.

And that what each learner spends is counted fully, and counting it changes nothing.
"""

from contextlib import contextmanager, nullcontext

import pytest

from probe.metrics.diaz_rodriguez import ms, sss
from probe.training.costs import OpsMeter
from probe.training.loop import Recipe
from probe.training.optimizers import optimizer_ops
from scenarios.learners import base
from scenarios.learners.catalog import LEARNERS
from scenarios.learners.kemker import pathnet
from tests.scenarios.learners.tiny_learners import RECIPE, digits, equal, learner, same

# The MLP 64-256-256-10: parameters, and multiply-adds per example forward, and forward
# and backward (the weights' gradients as much again, the inputs' too, but for the first
# layer).
PARAMETERS = 64 * 256 + 256 + 256 * 256 + 256 + 256 * 10 + 10
FORWARD = 64 * 256 + 256 * 256 + 256 * 10
PASS = 3 * FORWARD - 64 * 256
EXAMPLE = 64 * 4 + 8  # bytes: 8 x 8 floats and a label


def costs(own, train_limit=3, classes_per_task=1):
    """Return what each task cost: ten tasks of one digit each, three examples of each."""
    return [own.learn(task) for task in digits(train_limit, classes_per_task).tasks]


# Copies of the parameters carried from task to task, examples of each class stored, and
# the criteria MS and SSS of ten tasks, as in table 1 of Diaz-Rodriguez 2018.
CRITERIA = {
    "finetune": (0, 0, 1, 1),
    "lwf": (0, 0, 1, 1),
    "ewc": (2, 0, 0.4, 1),
    "si": (2, 0, 0.4, 1),
    "ewc_online": (2, 0, 0.4, 1),
    "rwalk": (3, 0, 0.325, 1),
    "cumulative": (0, 3, 1, 0.55),
    "er": (0, 2, 1, 0.7),
    "gem": (0, 2, 1, 0.7),
    "icarl": (0, 2, 1, 0.7),
}


@pytest.mark.parametrize("kind", CRITERIA)
def test_what_is_carried_stored_and_kept(kind):
    """Of three examples of each class; EWC's penalty carries one number of 8 bytes, too."""
    copies, each, memory, storage = CRITERIA[kind]
    given = {}
    if kind in ("er", "gem"):
        given["memory_per_class"] = 2
    if kind == "icarl":
        given["exemplars"] = {"per_class": 2}
    spent = costs(learner(kind, **given))
    assert [cost.stored_bytes for cost in spent] == [
        k * each * EXAMPLE for k in range(10)
    ]
    assert {cost.train_bytes for cost in spent} == {3 * EXAMPLE}
    assert spent[0].carried_bytes == 0
    assert {c.carried_bytes - copies * 4 * PARAMETERS for c in spent[1:]} <= {0, 8}
    sizes = [cost.parameter_bytes + cost.carried_bytes for cost in spent]
    assert round(ms(sizes), 4) == memory
    assert sss([c.stored_bytes for c in spent], sum(c.train_bytes for c in spent)) == (
        pytest.approx(storage, abs=1e-15)
    )
    kept = [cost.kept_bytes - k * each * EXAMPLE for k, cost in enumerate(spent, 1)]
    assert {size - (1 + copies) * 4 * PARAMETERS for size in kept} <= {0, 8}


@pytest.mark.parametrize("replay", ["batch", "joined"])
def test_the_cost_of_replay_by_hand(replay):
    """Tasks of 20 in batches of 8, 8, 4; 3 exemplars of each of 2 classes more with every task.

    batch: 6 then 12 stored are drawn from by as many as the batch holds; joined: each
    is one more example of an epoch, so that there are 26 then 32 in batches of 8.
    """
    recipe = Recipe(epochs=2, batch_size=8)
    exemplars = {"per_class": 3, "replay": replay}
    own = learner("finetune", recipe=recipe, exemplars=exemplars)
    spent = costs(own, 10, 2)[:3]
    update = PARAMETERS * optimizer_ops(recipe)
    seen = [20, 26, 32]
    steps = [3, 4, 4]
    if replay == "batch":
        seen = [20, 20 + 6 + 6 + 4, 20 + 8 + 8 + 4]
        steps = [3, 3, 3]
    by_hand = [2 * (n * PASS + s * update) for n, s in zip(seen, steps, strict=True)]
    assert [cost.ops for cost in spent] == by_hand
    assert [cost.ops_one_pass for cost in spent] == [20 * PASS] * 3


class Thorough(OpsMeter):
    """Counts every step anew, as `once` does."""

    @contextmanager
    def step(self, size, skipped=int):
        with self.once():
            yield
        self.add(skipped())
        self.steps += 1


class Blind(OpsMeter):
    """Looks at nothing."""

    def step(self, size=0, skipped=int):
        return nullcontext()

    once = step


def costs_of_two(own, meter=OpsMeter):
    """Learn tasks of 34 examples in batches of 16: 16, 18; joined by exemplars, of other sizes."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (base, pathnet):
            patch.setattr(module, "OpsMeter", meter)
        return [own.learn(task) for task in own.view(digits(17)).tasks[:2]]


@pytest.mark.parametrize("kind", sorted(LEARNERS))
def test_counting_a_size_once_is_counting_every_step_and_changes_no_bit(
    kind,
):
    """Neither of its weights nor of what it carries, be it computed in the steps or at the end."""
    own, thorough, blind = (learner(kind, "cnn3") for _ in range(3))
    spent = costs_of_two(own)
    assert costs_of_two(thorough, Thorough) == spent
    costs_of_two(blind, Blind)
    assert same(own, blind)
    assert equal(own.state(), blind.state())
    assert (spent[0].carried_bytes, spent[0].stored_bytes) == (0, 0)
    # The GeppNets learn in iterations, not in epochs.
    if not kind.startswith("geppnet"):
        assert spent[0].ops >= RECIPE.epochs * spent[0].ops_one_pass
