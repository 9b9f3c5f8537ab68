"""The device of `other_device` computes what the CPU does, and refuses and counts as a GPU does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from tests.laws.other_device import Held, OtherDevice

X = torch.arange(6.0).reshape(2, 3)
CPU_NUMBERS = torch.tensor([1, 0])


def test_it_computes_what_the_cpu_does_gradients_too() -> None:
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
        assert isinstance(other.grad, Held)
        assert other.device == other.grad.device == there.device
        assert one.grad is not None
        assert torch.equal(one.grad, other.grad.held)


MIXTURES: dict[str, Callable[[Tensor], object]] = {
    "two inputs": lambda x: x + X,
    "a product": lambda x: x @ X.T,
    "numbers of rows": lambda x: x.index_select(0, CPU_NUMBERS),
    "a list of both": lambda x: torch.cat([x, X]),
    "a number among the parts": lambda x: torch.stack([x[0, 0], torch.tensor(1.0)]),
    "the CPU's rows by its numbers": lambda x: X[x[0].long()],
    "a mask": lambda x: x.masked_fill(X > 1, 0.0),
    "a CPU generator": lambda x: torch.rand(3, device=x.device, generator=torch.Generator()),
    "in place": lambda x: x.mul_(X),
}


@pytest.mark.parametrize("what", MIXTURES)
def test_a_mixture_of_devices_is_refused(what: str) -> None:
    with OtherDevice(), pytest.raises(RuntimeError, match=r"mixes devices|CPU generator"):
        MIXTURES[what](Held(X.clone()))


FREE: dict[str, Callable[[Tensor], object]] = {
    "numbers": lambda x: (x + 1).mul_(torch.tensor(2.0)),
    "made there": lambda x: x + torch.arange(3, device=x.device),
    "rows": lambda x: x.index_select(0, torch.zeros(2, dtype=torch.int64, device=x.device)),
    "rows by numbers": lambda x: x[torch.zeros(2, dtype=torch.int64, device=x.device)],
    "a mask": lambda x: x.masked_fill(x > 1, 0.0),
    "clipping": lambda x: nn.utils.clip_grad_norm_([_with_gradient(x)], 0.1),
}
WAITING: dict[str, Callable[[Tensor], object]] = {
    "item": lambda x: x[0, 0].item(),
    "a condition": lambda x: bool((x > 1).any()),
    "a list": lambda x: x.tolist(),
    "to the CPU": lambda x: x.cpu(),
    "from the CPU": lambda x: X.to(x.device),
    "a list made there": lambda x: torch.tensor([1.0, 2.0], device=x.device),
    "rows by a mask": lambda x: x[x > 1],
    "rows by the CPU's numbers": lambda x: x[CPU_NUMBERS],
    "written by a mask": lambda x: x.__setitem__(x > 1, x.new_zeros(())),
    "nonzero": lambda x: x.nonzero(),
    "counts": lambda x: x[0].long().bincount(minlength=3),
    "unique": lambda x: x.unique(),
    "equal": lambda x: torch.equal(x, x),
    "copied into": lambda x: x.copy_(X),
}


@pytest.mark.parametrize("what", [*FREE, *WAITING])
def test_what_makes_anybody_wait_is_counted_and_nothing_else(what: str) -> None:
    with OtherDevice() as there:
        x = Held(X.clone())
        (FREE | WAITING)[what](x)
    assert bool(there.waits) == (what in WAITING)


def _with_gradient(x: Tensor) -> nn.Parameter:
    parameter = nn.Parameter(x.clone())
    parameter.grad = x
    return parameter
