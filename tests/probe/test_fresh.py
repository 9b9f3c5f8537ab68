"""Fresh values for a tail from a new model, and parameters that no rule writes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from probe import Examples, Model, Recipe, partial_retrain
from probe.cut.cuts import split
from probe.errors import InputError
from probe.modules import named_state
from probe.seeding import stream
from probe.training.fresh_weights import fresh_state
from tests.laws.zoo.specimens import SPECIMENS, specimen


@pytest.mark.parametrize(
    ("name", "feature"),
    [("reduced_resnet18", "layer3"), ("tied_weights", "encode"), ("mlp", "output")],
)
def test_a_tail_takes_a_new_models_values_and_keeps_what_is_frozen(name: str, feature: str) -> None:
    """Buffers too; a layer that the prefix needs stays as it is under its other name as well."""
    model, x, _ = specimen(name)
    before = {name: tensor.clone() for name, tensor in named_state(model).items()}
    cut = split(model, feature, x)
    cut.reinitialize(SPECIMENS[name].build, stream(3, "tail"))
    built = fresh_state(SPECIMENS[name].build, stream(3, "tail"))
    assert cut.fresh_values.keys().isdisjoint(cut.frozen)
    assert all(torch.equal(value, built[name]) for name, value in cut.fresh_values.items())
    kept = {name.removeprefix("model."): value for name, value in named_state(cut.tail).items()}
    assert all(torch.equal(kept[name], before[name]) for name in kept.keys() & set(cut.frozen))
    assert all(map(torch.equal, named_state(model).values(), before.values()))


@pytest.mark.parametrize(
    "form", [lambda model: model, nn.Module.state_dict], ids=["model", "state"]
)
def test_a_checkpoint_is_rewound_to_bit_for_bit(form) -> None:
    model, x, _ = specimen("reduced_resnet18")
    checkpoint = SPECIMENS["reduced_resnet18"].build()
    cut = split(model, "layer3", x)
    cut.reinitialize(form(checkpoint), stream(0))
    expected = named_state(checkpoint)
    assert all(torch.equal(value, expected[name]) for name, value in cut.fresh_values.items())
    assert len(cut.fresh_values) > 2


class Scaled(nn.Module):
    """A factor that no `reset_parameters` writes."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale


def test_what_no_rule_writes_is_refused_before_any_cut_and_all_of_it_named(monkeypatch) -> None:
    """Not what every feature needs, nor what nothing reads, nor what stays frozen as given."""
    model = nn.Sequential(Scaled(), nn.Linear(4, 4), Scaled(), nn.Linear(4, 4), Scaled())
    model.register_parameter("unread", nn.Parameter(torch.ones(3)))
    data = Examples(torch.randn(40, 4, generator=stream(0, "x")), torch.arange(40) % 4)
    asked = (["0", "1"], data, data, [[0, 1], [2, 3]], Recipe(epochs=1))
    with monkeypatch.context() as patch:
        patch.setattr("probe.retrain.cut_found", lambda *_: pytest.fail("a cut was made"))
        with pytest.raises(InputError, match=r"'2\.scale', '4\.scale'"):
            partial_retrain(model, *asked)
    for scaled in (model[2], model[4]):
        scaled.requires_grad_(False)
    partial_retrain(Model(model, trainable="as given"), *asked)
