"""What each learner spends is counted fully, and counting it changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import pytest
import torch
from torch import nn

from probe.training.costs import Cost, OpsMeter
from scenarios.learners import base
from scenarios.learners.catalogue import LEARNERS
from scenarios.learners.finetune import Finetune
from scenarios.learners.kemker import pathnet
from tests.scenarios.learners.tiny_learners import (
    RECIPE,
    digits,
    learner,
    network,
    settings,
    weights,
)

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

    def step(self, size: int) -> nullcontext[None]:  # type: ignore[override]
        return nullcontext()

    def once(self) -> nullcontext[None]:  # type: ignore[override]
        return nullcontext()


class Moody(Finetune):
    """Runs the model once more in every second step."""

    def after_step(self, model: nn.Module) -> None:
        self.odd = not getattr(self, "odd", False)
        if self.odd:
            model(torch.zeros(8, 1, 8, 8))


def three(own: base.Learner) -> list[Cost]:
    """Tasks of 50 examples in batches of 16: 16, 16, 18; joined by exemplars, of other sizes."""
    return [own.learn(task) for task in own.view(digits(25)).tasks[:3]]


@pytest.mark.parametrize("kind", sorted(LEARNERS))
def test_counting_a_size_once_is_counting_every_step(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = three(learner(kind))
    for module in (base, pathnet):
        monkeypatch.setattr(module, "OpsMeter", Thorough)
    assert three(learner(kind)) == once


def test_a_step_whose_cost_has_moods_is_not_counted_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The negative control: what `Learner` asks of a step holds of ours, not of any."""

    def moody() -> list[Cost]:
        return three(Moody(network(), RECIPE, settings("finetune"), 0))

    once = moody()
    monkeypatch.setattr(base, "OpsMeter", Thorough)
    assert moody() != once


@pytest.mark.parametrize("kind", sorted(LEARNERS))
def test_the_meter_changes_no_bit_of_a_learner(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of its weights nor of what it carries, be it computed in the steps or at the end."""
    metered = learner(kind, "cnn3")
    three(metered)
    for module in (base, pathnet):
        monkeypatch.setattr(module, "OpsMeter", Blind)
    blind = learner(kind, "cnn3")
    three(blind)
    assert all(map(torch.equal, weights(metered), weights(blind)))
    assert metered.state().keys() == blind.state().keys()
    assert all(torch.equal(t, blind.state()[name]) for name, t in metered.state().items())


@pytest.mark.parametrize("kind", sorted(LEARNERS))
def test_a_first_task_has_nothing_carried_or_stored(kind: str) -> None:
    own = learner(kind)
    assert own.stored_bytes() == 0
    first, second, _ = three(own)
    assert (first.carried_bytes, first.stored_bytes) == (0, 0)
    assert (second.stored_bytes > 0) == (kind in OLD_MEMORY)
    if kind not in ("geppnet", "geppnet_stm"):  # they learn in iterations, not in epochs
        assert first.ops >= RECIPE.epochs * first.ops_one_pass
