"""What learning a task cost: bytes and multiply-adds by hand, and the criteria that follow.

And that what each learner spends is counted fully, and counting it changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import pytest

from probe.metrics.diaz_rodriguez import ce, ms, sss
from probe.training.costs import Cost, OpsMeter
from probe.training.loop import Recipe
from probe.training.optimizers import optimizer_ops
from scenarios.learners import base
from scenarios.learners.catalog import LEARNERS
from scenarios.learners.kemker import pathnet
from tests.scenarios.learners.tiny_learners import RECIPE, digits, equal, learner, same

# The MLP 64-256-256-10: parameters, and multiply-adds per example forward, and forward and
# backward (the weights' gradients as much again, the inputs' too, but for the first layer).
PARAMETERS = 64 * 256 + 256 + 256 * 256 + 256 + 256 * 10 + 10
FORWARD = 64 * 256 + 256 * 256 + 256 * 10
PASS = 3 * FORWARD - 64 * 256
EXAMPLE = 64 * 4 + 8  # bytes: 8 x 8 floats and a label


def costs(own: base.Learner, train_limit: int = 3, classes_per_task: int = 1) -> list[Cost]:
    """Return what each task cost: ten tasks of one digit each, three examples of each."""
    return [own.learn(task) for task in digits(train_limit, classes_per_task).tasks]


def memory(spent: list[Cost]) -> list[int]:
    return [cost.parameter_bytes + cost.carried_bytes for cost in spent]


def sss_of(spent: list[Cost]) -> float:
    return sss([c.stored_bytes for c in spent], sum(c.train_bytes for c in spent))


@pytest.mark.parametrize(
    ("kind", "copies", "expected"),
    [("ewc", 2, 0.4), ("si", 2, 0.4), ("ewc_online", 2, 0.4), ("rwalk", 3, 0.325)],
)
def test_ms_of_ewc_and_si_is_the_published_4_tenths(
    kind: str, copies: int, expected: float
) -> None:
    """Table 1 of Diaz-Rodriguez 2018; how many tasks are past does not change what they carry.

    Importance and anchor (RWalk: Fisher, score and anchor), and at most one number of 8 bytes.
    """
    spent = costs(learner(kind))
    assert spent[0].carried_bytes == 0
    assert {c.carried_bytes - copies * 4 * PARAMETERS for c in spent[1:]} <= {0, 8}
    assert round(ms(memory(spent)), 4) == expected
    assert sss_of(spent) == 1


@pytest.mark.parametrize("kind", ["finetune", "lwf"])
def test_ms_and_sss_of_what_carries_and_stores_nothing_are_1(kind: str) -> None:
    """Naive and LwF in Table 1: the old model that teaches is the last task's own."""
    spent = costs(learner(kind))
    assert ms(memory(spent)) == sss_of(spent) == 1


def test_sss_of_cumulative_learning_is_the_published_55_hundredths() -> None:
    spent = costs(learner("cumulative"))
    assert [cost.stored_bytes for cost in spent] == [k * 3 * EXAMPLE for k in range(10)]
    assert sss_of(spent) == pytest.approx(0.55, abs=1e-15)
    assert ms(memory(spent)) == 1


@pytest.mark.parametrize("kind", ["er", "gem", "icarl"])
def test_a_memory_of_two_per_class_takes_their_bytes(kind: str) -> None:
    """Stored while task i is learned: 2 examples of each of i - 1 classes, of 3 in the data."""
    given = {"exemplars": {"per_class": 2}} if kind == "icarl" else {"memory_per_class": 2}
    spent = costs(learner(kind, **given))
    assert [cost.stored_bytes for cost in spent] == [2 * k * EXAMPLE for k in range(10)]
    assert [cost.train_bytes for cost in spent] == [3 * EXAMPLE] * 10
    assert sss_of(spent) == pytest.approx(1 - 2 / 3 * 0.45)


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "nadam", "sgd"])
@pytest.mark.parametrize(("epochs", "batch", "steps"), [(1, 8, 3), (3, 16, 2)])
def test_ce_of_fine_tuning_is_one_in_epochs_up_to_the_optimizer(
    optimizer: str, epochs: int, batch: int, steps: int
) -> None:
    """20 examples a task; the optimizer's work per step and parameter is a formula's."""
    recipe = Recipe(epochs=epochs, batch_size=batch, optimizer=optimizer)  # type: ignore[arg-type]
    spent = costs(learner("finetune", recipe=recipe), 10, 2)
    updates = epochs * steps * PARAMETERS * optimizer_ops(recipe)
    assert {cost.ops_one_pass for cost in spent} == {20 * PASS}
    assert {cost.ops for cost in spent} == {epochs * 20 * PASS + updates}
    passes = [cost.ops_one_pass for cost in spent]
    assert ce(passes, [cost.ops - updates for cost in spent]) == pytest.approx(1 / epochs)
    assert ce(passes, [cost.ops for cost in spent]) < 1 / epochs


@pytest.mark.parametrize("replay", ["batch", "joined"])
def test_the_cost_of_replay_by_hand(replay: str) -> None:
    """Tasks of 20 in batches of 8, 8, 4; 3 exemplars of each of 2 classes more with every task.

    batch: 6 then 12 stored are drawn from by as many as the batch holds; joined: each is one more
    example of an epoch, so that there are 26 then 32 in batches of 8.
    """
    recipe = Recipe(epochs=2, batch_size=8)
    own = learner("finetune", recipe=recipe, exemplars={"per_class": 3, "replay": replay})
    spent = costs(own, 10, 2)[:3]
    update = PARAMETERS * optimizer_ops(recipe)
    seen = {"batch": [20, 20 + 6 + 6 + 4, 20 + 8 + 8 + 4], "joined": [20, 26, 32]}[replay]
    steps = {"batch": [3, 3, 3], "joined": [3, 4, 4]}[replay]
    by_hand = [2 * (n * PASS + s * update) for n, s in zip(seen, steps, strict=True)]
    assert [cost.ops for cost in spent] == by_hand
    assert [cost.ops_one_pass for cost in spent] == [20 * PASS] * 3


@pytest.mark.parametrize(
    ("sampling", "passes"), [("mean_of_features", 1), ("entropy", 1), ("uniform", 0), ("fifo", 0)]
)
def test_choosing_exemplars_costs_a_forward_pass_where_it_looks_at_the_model(
    sampling: str, passes: int
) -> None:
    chosen = first_task("finetune", 10, exemplars={"per_class": 5, "sampling": sampling})
    assert chosen - first_task("finetune", 10) == passes * 20 * FORWARD


def test_the_fisher_s_pass_is_spent_too() -> None:
    """A pass of single examples, and what it takes to see that it may be trusted."""
    own, task = learner("ewc"), digits(10).tasks[0]
    cost, plain = own.learn(task), learner("finetune").learn(task)
    rest = cost.ops - plain.ops - RECIPE.epochs * 2 * own.elementwise * PARAMETERS
    assert cost.ops_one_pass <= rest < 1.5 * cost.ops_one_pass


def test_frozen_parameters_are_no_work_for_the_optimizer() -> None:
    own = learner("finetune")
    own.model[0].requires_grad_(False)
    [cost, *_] = costs(own, 10, 2)
    steps = 2 * 2
    moved = steps * (PARAMETERS - 64 * 256 - 256) * optimizer_ops(RECIPE)
    assert cost.ops == 2 * cost.ops_one_pass + moved
    assert cost.ops_one_pass == 20 * (3 * FORWARD - 2 * 64 * 256 - 256 * 256)
    assert cost.parameter_bytes == 4 * PARAMETERS


# What is kept after the first and the last of ten tasks of one digit, three examples of each:
# copies of the parameters (the model, EWC's importance and anchors), stored examples, and bytes
# beside them (the constant of EWC's penalty).
KEPT = {
    "finetune": [(1, 0, 0), (1, 0, 0)],
    "offline": [(1, 0, 0), (1, 0, 0)],
    "ewc": [(3, 0, 8), (3, 0, 8)],
    "er": [(1, 2, 0), (1, 20, 0)],
    "cumulative": [(1, 3, 0), (1, 30, 0)],
}


@pytest.mark.parametrize("kind", KEPT)
def test_what_is_kept_is_the_model_and_all_that_is_carried_and_stored(kind: str) -> None:
    own = learner("er", memory_per_class=2) if kind == "er" else learner(kind)
    first, *_, last = costs(own)
    expected = [c * 4 * PARAMETERS + stored * EXAMPLE + more for c, stored, more in KEPT[kind]]
    assert [first.kept_bytes, last.kept_bytes] == expected


OLD_MEMORY = ("er", "gem", "icarl", "icarl_hybrid1", "cumulative", "geppnet", "geppnet_stm")


class Thorough(OpsMeter):
    """Counts every step anew, as `once` does."""

    @contextmanager
    def step(self, size: int) -> Iterator[None]:
        with self.once():
            yield
        self.steps += 1


class Blind(OpsMeter):
    """Looks at nothing."""

    def step(self, size: int = 0) -> nullcontext[None]:
        return nullcontext()

    once = step


def three(own: base.Learner) -> list[Cost]:
    """Tasks of 34 examples in batches of 16: 16, 18; joined by exemplars, of other sizes."""
    return [own.learn(task) for task in own.view(digits(17)).tasks[:3]]


def metered_by(meter: type[OpsMeter], own: base.Learner) -> list[Cost]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (base, pathnet):
            patch.setattr(module, "OpsMeter", meter)
        return three(own)


@pytest.mark.parametrize("kind", sorted(LEARNERS))
def test_counting_a_size_once_is_counting_every_step_and_changes_no_bit(kind: str) -> None:
    """Neither of its weights nor of what it carries, be it computed in the steps or at the end."""
    own, thorough, blind = (learner(kind, "cnn3") for _ in range(3))
    assert own.stored_bytes() == 0
    spent = three(own)
    assert metered_by(Thorough, thorough) == spent
    metered_by(Blind, blind)
    assert same(own, blind)
    assert equal(own.state(), blind.state())
    # A first task has nothing carried or stored.
    assert (spent[0].carried_bytes, spent[0].stored_bytes) == (0, 0)
    assert (spent[1].stored_bytes > 0) == (kind in OLD_MEMORY)
    if kind not in ("geppnet", "geppnet_stm"):  # they learn in iterations, not in epochs
        assert spent[0].ops >= RECIPE.epochs * spent[0].ops_one_pass
