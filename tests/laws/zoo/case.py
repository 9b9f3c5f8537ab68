"""A cut under examination, beside the plain model."""

from dataclasses import dataclass
from functools import cached_property, partial

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from probe.cut.interface import Split
from probe.modules import copied, named_state, unwrapped
from tests.laws.zoo.net import (
    CACHED,
    SLOW,
    Inputs,
    Net,
    feature_value,
    fed,
    seed,
    seeded,
    train_mode,
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A cut under examination.

    model: the plain model, in eval mode; state: its floating-point state by name, each
        tensor once;
    frozen: names, of these, that the cut claims to freeze; own: the name in the cut's
    tail of each, known by its content, so that the cut may name it as it likes; x:
    inputs that are not those of the cut.
    """

    net: Net
    model: nn.Module
    feature: str
    cut: Split
    x: Inputs
    way: str
    state: dict[str, Tensor]
    frozen: set[str]
    own: dict[str, str]

    def expected(self, x):
        return self.net.logits(seeded(partial(fed, self.model), x)).clone()

    def in_tail(self):
        state = named_state(self.cut.tail)
        return {name: state[own] for name, own in self.own.items()}

    @cached_property
    def feeding(self):
        """The modules that act on the feature, which are in eval mode while the tail is trained."""
        name = self.feature.partition("#")[0]
        outer = {
            own
            for own, _ in self.model.named_modules()
            if f"{name}.".startswith(f"{own}.")
        }
        feeding = _feeding(self)
        if self.cut.around:
            feeding |= {"", *outer} - {name}
        return feeding

    @cached_property
    def both_sides(self):
        """Whether something that has a mode may act on both sides: no mode is right for it."""
        running = any(not n or self.feature.startswith(f"{n}.") for n in self.feeding)
        if self.net.both_sides or (running and not self.cut.around):
            return True
        before = _calls(self.model, self.feeding, lambda: self.value(self.x))
        return before != _calls(
            self.model, self.feeding, lambda: fed(self.model, self.x)
        )

    @cached_property
    def unread(self):
        """The parameters that the output does not depend on, in eval mode."""
        names = [
            name
            for name, tensor in self.state.items()
            if isinstance(tensor, nn.Parameter)
        ]
        with torch.enable_grad(), seed(0):
            total = self.net.logits(fed(self.model, self.x)).sum()
        if not total.requires_grad:
            return set(names)
        of = [self.state[name] for name in names]
        found = torch.autograd.grad(total, of, allow_unused=True)
        return {
            name
            for name, gradient in zip(names, found, strict=True)
            if gradient is None
        }

    def same_path(self, x):
        """Whether the plain model calls for these inputs what it calls for all of them."""
        return _path(self.model, x) == _path(self.model, self.x)

    def value(self, x):
        return feature_value(self.model, self.feature, x)


def case_of(net, model, feature, cut, x):
    plain = unwrapped(copied(model)).requires_grad_(True).eval()
    everything = named_state(plain)
    first = {}
    for name, tensor in everything.items():
        first.setdefault(id(tensor), name)
    strange = sorted(set(cut.frozen) - everything.keys())
    assert not strange, f"frozen are {strange}, which the model does not have"
    state = {name: everything[name] for name in first.values()}
    state = {
        name: tensor for name, tensor in state.items() if tensor.is_floating_point()
    }
    contents = {
        _content(tensor): name for name, tensor in named_state(cut.tail).items()
    }
    own = {
        n: contents[_content(t)] for n, t in state.items() if _content(t) in contents
    }
    return Case(
        net=net,
        model=plain,
        feature=feature,
        cut=cut,
        x=x,
        way=CACHED if cut.cached else SLOW,
        state=state,
        frozen={first[id(everything[name])] for name in cut.frozen} & state.keys(),
        own=own,
    )


class _Path(TorchFunctionMode):
    """Notes which of torch's functions are called."""

    def __init__(self):
        super().__init__()
        self.functions = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.functions.append(getattr(function, "__name__", ""))
        return function(*args, **(kwargs or {}))


def _path(model, x):
    with _Path() as path:
        seeded(partial(fed, model), x)
    return path.functions


def _feeding(case):
    """Name the modules that move the feature, or frozen buffers, when they alone are in train mode.

    Tried are those that could: the ones that hold frozen buffers or draw random
    numbers. For norms with running statistics, which are many, the answer is known.
    """
    drawing = _drawing(case.model, case.x)
    alone = copied(case.model)
    buffers = {name: tensor.clone() for name, tensor in alone.named_buffers()}
    before = [*case.value(case.x), *_of(buffers, case.frozen)]
    holding = {name.rpartition(".")[0] for name in case.frozen & buffers.keys()}
    found = {
        n
        for n in holding
        if isinstance(alone.get_submodule(n), nn.modules.batchnorm._NormBase)
    }
    for name in (holding | drawing) - found:
        module = alone.get_submodule(name)
        module.training = True
        for number in range(4 if name in drawing else 1):
            with seed(number), torch.no_grad():
                value = feature_value(alone, case.feature, case.x)
            if not same(
                [*value, *_of(dict(alone.named_buffers()), case.frozen)], before
            ):
                found.add(name)
                break
        module.training = False
        with torch.no_grad():
            for name, buffer in alone.named_buffers():
                buffer.copy_(buffers[name])
    return found


def _calls(model, names, run):
    """Return which of the named modules run, each as often as it does."""
    called = []
    every = [(name, model.get_submodule(name)) for name in sorted(names)]
    hooks = [
        m.register_forward_pre_hook(lambda m, x, n=n: called.append(n))
        for n, m in every
    ]
    with torch.no_grad():
        run()
    for hook in hooks:
        hook.remove()
    return called


def _of(buffers, names):
    return [buffers[name] for name in sorted(names & buffers.keys())]


def _drawing(model, x):
    """Name the modules that draw random numbers in train mode, or have a child that does."""
    model = train_mode(model, set())
    found = set()
    states = []

    def note(name):
        if not torch.equal(states.pop(), torch.get_rng_state()):
            found.add(name)

    for name, module in model.named_modules():
        if not isinstance(module, torch.jit.ScriptModule):
            module.register_forward_pre_hook(
                lambda *_: states.append(torch.get_rng_state())
            )
            module.register_forward_hook(lambda *_, name=name: note(name))
    seeded(partial(fed, model), x)
    return found


def same(a, b):
    return len(a) == len(b) and all(
        x.shape == y.shape and torch.allclose(x, y, rtol=0, atol=0, equal_nan=True)
        for x, y in zip(a, b, strict=True)
    )


def _content(tensor):
    return tensor.shape, hash(
        tensor.detach().flatten().view(torch.uint8).numpy().tobytes()
    )
