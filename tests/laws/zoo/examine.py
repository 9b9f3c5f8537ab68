"""Cut a network at a feature and hold the cut against every law."""

from __future__ import annotations

import copy
import re
import traceback
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from probe.cut.cuts import split
from probe.errors import InputError
from probe.modules import named_state
from tests.laws.zoo.case import case_of
from tests.laws.zoo.laws import LAWS, Law
from tests.laws.zoo.net import CACHED, REFUSED, SLOW, Inputs, Net


@dataclass(frozen=True)
class Verdict:
    """How a cut was made, a line for every law that it breaks, and why it is not cached."""

    feature: str
    way: str
    broken: tuple[str, ...]
    reason: str = ""


def examine_all(net: Net, features: set[str] | None = None) -> list[Verdict]:
    """Examine the cuts of a network, at the features named or at all of them."""
    model, sample, others = net.made()
    wanted = [f for f in (*net.features, *net.refuses) if features is None or f in features]
    return [examine(net, model, feature, sample, others) for feature in wanted]


def examine(
    net: Net,
    model: nn.Module,
    feature: str,
    sample: Inputs,
    others: Inputs,
    laws: Mapping[str, Law] = LAWS,
) -> Verdict:
    """Cut at `feature` with `sample`, and check the laws on `others`, in their order.

    The fused attention that torch takes in inference only rounds otherwise: bit for bit is asked
    without it.
    """
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        return _examine(net, model, feature, sample, others, laws)
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


def _examine(
    net: Net,
    model: nn.Module,
    feature: str,
    sample: Inputs,
    others: Inputs,
    laws: Mapping[str, Law],
) -> Verdict:
    before = copy.deepcopy(model.state_dict()), [m.training for m in model.modules()]
    random = torch.get_rng_state()
    try:
        cut = split(model, feature, sample, net.output)
    except InputError as refusal:
        return Verdict(feature, REFUSED, _wrongly_refused(net, feature, refusal), str(refusal))
    except Exception as error:
        return Verdict(feature, "crashed", (f"split: {_where(error)}",))
    if feature in net.refuses:
        return Verdict(feature, "accepted", ("way: it must be refused",))
    broken = [] if torch.equal(random, torch.get_rng_state()) else ["untouched: torch's generator"]
    broken += [f"untouched: {what}" for what in touched(model, *before)]
    try:
        case = case_of(net, model, feature, cut, others)
    except Exception as error:
        return Verdict(feature, CACHED if cut.cached else SLOW, (f"case: {_where(error)}",))
    for name, law in laws.items():
        try:
            law(case)
        except Exception as error:
            broken.append(f"{name}: {_where(error)}")
    if case.way not in net.features[feature]:
        expected = " or ".join(net.features[feature])
        broken.append(f"way: {case.way}, expected {expected}")
    return Verdict(feature, case.way, tuple(broken), cut.slow)


def _wrongly_refused(net: Net, feature: str, refusal: InputError) -> tuple[str, ...]:
    if feature not in net.refuses:
        return () if REFUSED in net.features[feature] else (f"way: refused: {refusal}",)
    expected = net.refuses[feature]
    if re.search(expected, str(refusal)):
        return ()
    return (f"way: refused as it must be, but the reason has no {expected!r}: {refusal}",)


def touched(model: nn.Module, state: dict[str, Tensor], modes: list[bool]) -> list[str]:
    now = model.state_dict()
    touched = [name for name, old in state.items() if not torch.equal(old, now[name])]
    if [m.training for m in model.modules()] != modes:
        touched.append("modes")
    if any(tensor.grad is not None for tensor in named_state(model).values()):
        touched.append("gradients")
    return touched


def _where(error: Exception) -> str:
    if isinstance(error, AssertionError):
        return str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    text = str(error).splitlines()[0] if str(error) else ""
    return f"{type(error).__name__} at {last.filename.split('/')[-1]}:{last.lineno}: {text[:200]}"
