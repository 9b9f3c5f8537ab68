"""Cut a network at its features and check every law on the cuts."""

import copy
import re
import traceback
from collections import Counter
from dataclasses import dataclass

import torch

from probe.cut.cuts import split
from probe.cut.feature import find
from probe.cut.model_call import ModelCall
from probe.cut.names import INPUT
from probe.cut.trace import trace
from probe.errors import InputError
from probe.examples import Examples
from probe.model import Model
from probe.modules import named_state
from probe.retrain import partial_retrain
from probe.training.recipe import Recipe
from tests.laws.zoo.case import case_of
from tests.laws.zoo.laws import LAWS
from tests.laws.zoo.net import CACHED, CLASSES, REFUSED, SLOW, seed

CRASHED = "crashed"
RETRAINED = "retrained"
WITHOUT_FRESH = "without fresh weights"


@dataclass(frozen=True)
class Verdict:
    """Result of a cut or a retraining: its way, a line per broken law, why it is not cached."""

    feature: str
    way: str
    broken: tuple[str, ...] = ()
    reason: str = ""


def examine_all(net, only=(), number=4):
    """Examine a network's cuts at the features in `only`, or at all that it names.

    A network that names none is cut at `number` features, and retrained downstream of
    them.
    """
    names = [*net.features, *net.refuses]
    try:
        model, sample, others = net.made()
        features = list(only) or names or spread(net, model, sample, number)
    except Exception as error:
        return [Verdict("any feature", CRASHED, (where(error),))]
    verdicts = [examine(net, model, feature, sample, others) for feature in features]
    cut = [verdict.feature for verdict in verdicts if verdict.way in (CACHED, SLOW)]
    if cut and not names:
        verdicts.append(retrain(net, model, cut))
    return verdicts


def examine(net, model, feature, sample, others):
    """Cut at `feature` with `sample`, and check the laws on `others`, in their order.

    The fused attention that torch takes in inference only rounds otherwise: bit for bit
    is asked without it.
    """
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        return _examine(net, model, feature, sample, others)
    except Exception as error:
        return Verdict(feature, CRASHED, (where(error),))
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


def _examine(net, model, feature, sample, others):
    before = _state(model)
    random = torch.get_rng_state()
    try:
        cut = split(model, feature, sample, net.output)
    except InputError as refusal:
        return Verdict(
            feature, REFUSED, _wrongly_refused(net, feature, refusal), str(refusal)
        )
    broken = (
        []
        if torch.equal(random, torch.get_rng_state())
        else ["untouched: torch's generator"]
    )
    broken += [f"untouched: {name}" for name in _touched(model, before)]
    case = case_of(net, model, feature, cut, others)
    for name, law in LAWS.items():
        try:
            law(case)
        except Exception as error:
            broken.append(f"{name}: {where(error)}")
    if case.way not in net.ways_at(feature):
        broken.append(f"way: {case.way}, expected {' or '.join(net.ways_at(feature))}")
    return Verdict(feature, case.way, tuple(broken), cut.slow)


def _wrongly_refused(net, feature, refusal):
    if feature not in net.refuses:
        return () if REFUSED in net.ways_at(feature) else (f"way: refused: {refusal}",)
    expected = net.refuses[feature]
    if re.search(expected, str(refusal)):
        return ()
    return (
        f"way: refused as it must be, but the reason has no {expected!r}: {refusal}",
    )


def retrain(net, model, features):
    """Retrain downstream of every feature for an epoch, with fresh weights of a new model."""
    before = _state(model)
    recipe = Recipe(epochs=1, batch_size=8)
    with seed(2):
        train, test = (
            Examples(net.inputs(n), torch.arange(n) % CLASSES)
            for n in (3 * net.rows, net.rows)
        )
    called = Model(model, output=net.output, fresh=net.build)
    try:
        counts = partial_retrain(
            called, features, train, test, [[0, 1], [2]], recipe
        ).counts
    except InputError as refusal:
        return Verdict("partial_retrain", WITHOUT_FRESH, reason=str(refusal))
    except Exception as error:
        return Verdict("partial_retrain", CRASHED, (where(error),))
    broken = [f"untouched: {name}" for name in _touched(model, before)]
    counted = {feature: int(each.table.sum()) for feature, each in counts.items()}
    if counted != dict.fromkeys(features, len(test)):
        broken.append("not every test example is counted at every feature")
    return Verdict("partial_retrain", RETRAINED, tuple(broken))


def spread(net, model, sample, number):
    """Return the first value that a module gives, the last before the logits, and some between.

    Counted are the runs of modules in which a new value comes out that depends on the
    input.
    """
    names = list(_features(trace(model, sample, ModelCall(output=net.output))))
    last = len(names) - 1
    steps = max(1, number - 1)
    return list(
        dict.fromkeys(names[last * tasks_seen // steps] for tasks_seen in range(number))
    )


def _features(seen):
    known = {(seen.large.logits,)}
    before = Counter()
    runs = Counter(visit.module for visit in seen.large.visits)
    for visit in seen.large.visits:
        before[visit.module] += 1
        number = f"#{before[visit.module]}" if runs[visit.module] > 1 else ""
        if visit.module and visit.names and visit.names not in known:
            known.add(visit.names)
            feature = find(seen, f"{visit.module}{number}")
            if INPUT[0] in feature.upstream and not feature.random:
                yield feature.name


def _state(model):
    return copy.deepcopy(model.state_dict()), [m.training for m in model.modules()]


def _touched(model, before):
    now, modes = _state(model)
    touched = [
        name for name, old in before[0].items() if not torch.equal(old, now[name])
    ]
    if modes != before[1]:
        touched.append("modes")
    if any(tensor.grad is not None for tensor in named_state(model).values()):
        touched.append("gradients")
    return touched


def where(error):
    """Return an assertion's message, or the line at which another error was raised."""
    if isinstance(error, AssertionError):
        return str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    text, *_ = str(error).splitlines() or [""]
    return (
        f"{type(error).__name__} at {last.filename.split('/')[-1]}:{last.lineno}: "
        f"{text[:200]}"
    )
