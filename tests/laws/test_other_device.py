"""The device of `other_device` computes as the CPU does, and refuses and counts as a GPU does."""

import pytest
import torch
from torch import nn

from tests.laws.other_device import Held, OtherDevice

X = torch.arange(6.0).reshape(2, 3)
NUMBERS = torch.tensor([1, 0])


def test_it_computes_what_the_cpu_does_gradients_too():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    model(X).square().sum().backward()
    with OtherDevice() as there:
        twin = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        twin.load_state_dict(model.state_dict())
        twin.to(there.device)
        there.waits.clear()
        twin(Held(X)).square().sum().backward()
        assert not there.waits
    for one, other in zip(model.parameters(), twin.parameters(), strict=True):
        assert other.device == other.grad.device == there.device
        assert torch.equal(one.grad, other.grad.held)


MIXTURES = {
    "inputs": lambda x: torch.cat([x, X]),
    "in place": lambda x: x.mul_(X),
    "the CPU's rows by its numbers": lambda x: X[x[0].long()],
    "a CPU generator": lambda x: torch.rand(
        3,
        device=x.device,
        generator=torch.Generator(),
    ),
}


@pytest.mark.parametrize("name", MIXTURES)
def test_a_mixture_of_devices_is_refused(name):
    with (
        OtherDevice(),
        pytest.raises(RuntimeError, match=r"mixes devices|CPU generator"),
    ):
        MIXTURES[name](Held(X.clone()))


FREE = {
    "numbers": lambda x: (x + 1).mul_(torch.tensor(2.0)),
    "rows by numbers": lambda x: x[torch.zeros(2, dtype=torch.int64, device=x.device)],
    "a mask": lambda x: x.masked_fill(x > 1, 0.0),
}
WAITING = {
    "a condition": lambda x: bool((x > 1).any()),
    "to the CPU": lambda x: x.tolist(),
    "from the CPU": lambda x: torch.tensor([1.0, 2.0], device=x.device),
    "copied into": lambda x: x.copy_(X),
    "rows by a mask": lambda x: x[x > 1],
    "rows by the CPU's numbers": lambda x: x[NUMBERS],
}


@pytest.mark.parametrize("name", [*FREE, *WAITING])
def test_only_operations_that_wait_are_counted(name):
    with OtherDevice() as there:
        (FREE | WAITING)[name](Held(X.clone()))
    assert bool(there.waits) == (name in WAITING)
