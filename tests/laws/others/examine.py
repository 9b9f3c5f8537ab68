"""Hold a network of others against every law, at a few features, and count what comes out."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from probe.cut.feature import find
from probe.cut.model_call import ModelCall
from probe.cut.names import INPUT
from probe.cut.trace import Trace, trace
from probe.errors import InputError
from tests.laws.others.laws import ALL, protocol
from tests.laws.zoo.examine import Verdict, examine
from tests.laws.zoo.net import CACHED, REFUSED, SAFE, SLOW, Net

CRASHED = "crashed"
NUMBER = 4  # features of each network


@dataclass(frozen=True)
class Report:
    """How the cuts of a network were made, and what became of a whole partial retraining.

    refused, crashed: why there is none, empty if there is; wrong: what it broke.
    """

    verdicts: tuple[Verdict, ...] = ()
    refused: str = ""
    crashed: str = ""
    wrong: tuple[str, ...] = field(default=())


def examine_other(net: Net, only: Iterable[str] | None = None, number: int = NUMBER) -> Report:
    """Cut a network at `only` these features, or at a number of them, spread evenly."""
    try:
        features = list(only or features_of(net, number))
        model, sample, others = net.made()
    except Exception:
        return Report(crashed=f"before any cut: {_last_line()}")
    net = replace(net, features=dict.fromkeys(features, SAFE))
    verdicts = tuple(examine(net, model, f, sample, others, ALL) for f in features)
    cut = [v.feature for v in verdicts if v.way in (CACHED, SLOW)]
    try:
        return Report(verdicts, wrong=tuple(protocol(net, model, cut)) if cut else ())
    except InputError as refusal:
        return Report(verdicts, refused=str(refusal))
    except Exception:
        return Report(verdicts, crashed=f"partial_retrain: {_last_line()}")


def counted(reports: Iterable[Report]) -> Counter[str]:
    """Count cuts by their way, those that break a law, and retrainings that were not right."""
    counts: Counter[str] = Counter()
    for report in reports:
        counts.update(verdict.way for verdict in report.verdicts)
        counts["wrong"] += sum(v.way != CRASHED and bool(v.broken) for v in report.verdicts)
        counts["wrong"] += len(report.wrong)
        counts[CRASHED] += bool(report.crashed)
        counts["retrained"] += not (report.refused or report.crashed or report.wrong)
        counts["refused for fresh weights"] += bool(report.refused)
    return counts


def said(counts: Counter[str]) -> str:
    """Put counts into words."""
    ways = (CACHED, SLOW, REFUSED, "wrong", CRASHED, "retrained", "refused for fresh weights")
    return ", ".join(f"{counts[way]} {way}" for way in ways)


def explained(name: str, report: Report) -> list[str]:
    """Return a line for everything that is not simply cached and right."""
    lines = [f"{v.way} {name} at {v.feature}: {v.reason}" for v in report.verdicts if v.reason]
    lines += [f"BROKEN {name} at {v.feature}: {b}" for v in report.verdicts for b in v.broken]
    lines += [f"BROKEN {name}: {line}" for line in report.wrong]
    lines += [f"REFUSED {name}: {report.refused}"] * bool(report.refused)
    return lines + [f"CRASHED {name}: {report.crashed}"] * bool(report.crashed)


def _last_line() -> str:
    return " / ".join(traceback.format_exc().strip().splitlines()[-3:])[:300]


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
            feature = find(seen, f"{visit.module}{number}")
            if INPUT[0] in feature.upstream and not feature.random:
                yield feature.name
