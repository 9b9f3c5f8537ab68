"""Which features of a network of others are cut: a few, spread evenly, the same every time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from probe.cut.feature import Feature, find
from probe.cut.model_call import ModelCall
from probe.cut.names import INPUT
from probe.cut.trace import Trace, trace
from tests.laws.zoo.net import Net


def features_of(net: Net, number: int) -> list[str]:
    """Return the first value that a module gives, the last before the logits, and some between.

    Counted are the runs of modules in which a new value comes out that depends on the input.
    """
    model, sample, _ = net.made()
    names = list(_features(trace(model, sample, ModelCall(output=net.output))))
    last, steps = len(names) - 1, max(1, number - 1)
    return list(dict.fromkeys(names[last * step // steps] for step in range(number)))


def _features(seen: Trace) -> Iterator[str]:
    known, before = {(seen.large.logits,)}, Counter[str]()
    runs = Counter(visit.module for visit in seen.large.visits)
    for visit in seen.large.visits:
        before[visit.module] += 1
        number = f"#{before[visit.module]}" if runs[visit.module] > 1 else ""
        if visit.module and visit.names and visit.names not in known:
            known.add(visit.names)
            name = f"{visit.module}{number}"
            if _can_be_held(find(seen, name)):
                yield name


def _can_be_held(feature: Feature) -> bool:
    return bool(feature.upstream & {INPUT[0]}) and not feature.random
