"""What to keep of a frozen part: the fewest bytes from which the rest can be computed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from probe.cut.names import FOREIGN, INPUT, Name
from probe.cut.trace import Pass


class Fate(Enum):
    """What becomes of a call on frozen values when the tail runs."""

    SKIP = "not computed"
    SERVE = "not computed: its value is handed out from the cache"
    RUN = "computed again from values of the cache"


@dataclass(frozen=True)
class Frontier:
    """The values to keep, and what becomes of each call on frozen values, by its number."""

    names: tuple[Name, ...]
    fates: dict[int, Fate]


def frontier(
    seen: Pass,
    upstream: frozenset[int],
    state: Collection[int],
    costs: dict[Name, int],
    steady: Collection[int],
) -> Frontier | None:
    """Find the cheapest values from which the trained part of a forward pass can be computed.

    seen: the pass in the modes in which the tail is trained; upstream: the calls that the feature
    depends on, frozen whatever they do; state: the calls that stand for parameters and buffers;
    costs: of each value that may be kept, in bytes per example; steady: the calls behind the
    feature that do the same at every time, so that what they make of frozen values is frozen too.
    The cheapest are a minimum cut between what parameters compute and what the trained part
    reads, the last one where several are equal. Only what needs neither parameters nor, if that is
    possible, much time is computed again. None if nothing is to be kept, or nothing that may be.
    """
    frozen = _frozen(seen, upstream, state, steady)
    varying = _depending(seen, {INPUT[0]}) & frozen
    wanted = {name for name in _read_by_the_rest(seen, frozen) if name[0] in varying}
    if not wanted:
        return None
    fixed = _depending(seen, frozenset(state)) - varying
    for dear in (_DEAR, frozenset[str]()):
        edges = _edges(seen, varying, fixed | frozenset(state), dear)
        found = _minimum_cut(edges, wanted, costs)
        if found is not None:
            break
    else:
        return None
    kept, again = found
    fates = dict.fromkeys(upstream, Fate.SKIP)
    for number in frozen & seen.steps.keys():
        names = seen.steps[number].names
        if number not in varying or any(name in again for name in names):
            fates[number] = Fate.RUN
        else:
            fates[number] = Fate.SERVE if any(name in kept for name in names) else Fate.SKIP
    return Frontier(tuple(sorted(kept)), fates)


def _frozen(
    seen: Pass, upstream: frozenset[int], state: Collection[int], steady: Collection[int]
) -> frozenset[int]:
    """Return the calls whose values no training moves and no chance changes."""
    frozen = {*upstream, INPUT[0], FOREIGN[0]}
    for number, step in seen.steps.items():
        fixed = all(parent[0] in frozen for parent in step.parents)
        if not fixed and not step.names:
            break  # from here on the code knows a number that training moves, and may act on it
        writes_state = any(step.parents[at][0] in state for at in step.overwritten)
        if fixed and number in steady and not step.random and not writes_state:
            frozen.add(number)
    return frozenset(frozen)


def _depending(seen: Pass, roots: Collection[int]) -> frozenset[int]:
    """Return the calls that depend on any of the roots, with these."""
    found = set(roots)
    for number, step in seen.steps.items():
        if any(parent[0] in found for parent in step.parents):
            found.add(number)
    return frozenset(found)


def _read_by_the_rest(seen: Pass, frozen: frozenset[int]) -> set[Name]:
    """Return the frozen values that go into the trained part or are the logits."""
    rest = (step for number, step in seen.steps.items() if number not in frozen)
    read = {name for step in rest for name in step.parents} | {seen.logits}
    return {name for name in read if name[0] in frozen}


def _edges(
    seen: Pass, varying: frozenset[int], fixed: frozenset[int], dear: frozenset[str]
) -> dict[Name, tuple[Name, ...]]:
    """Return for each frozen value what it can be computed from again; nothing if it cannot."""
    edges: dict[Name, tuple[Name, ...]] = {INPUT: ()}
    for number, step in seen.steps.items():
        if number in varying:
            once = step.random or step.function in dear
            uses_state = any(parent[0] in fixed for parent in step.parents)
            sources = tuple(parent for parent in step.parents if parent[0] in varying)
            edges.update(dict.fromkeys(step.names, () if once or uses_state else sources))
    return edges


def _minimum_cut(
    edges: dict[Name, tuple[Name, ...]], wanted: set[Name], costs: dict[Name, int]
) -> tuple[set[Name], set[Name]] | None:
    """Return the values to keep and those to compute again, or None if no cut is possible."""
    # Each value is a pair of nodes, in and out, with its bytes on the way between the two.
    place = {name: 2 + 2 * at for at, name in enumerate(edges)}
    unit = 1 + sum(costs.values()) // 2**29  # scipy's flows are 32-bit numbers
    price = {name: max(1, size // unit) for name, size in costs.items()}
    never = 1 + sum(price.values())
    lines = [(place[name], place[name] + 1, price.get(name, never)) for name in edges]
    for name, sources in edges.items():
        lines += [(place[source] + 1, place[name], never) for source in sources]
        if not sources:
            lines.append((_SOURCE, place[name], never))
    lines += [(place[name] + 1, _SINK, never) for name in wanted]
    reaching = _reaching_the_sink(np.array(lines, dtype=np.int32), 2 + 2 * len(edges), never)
    if reaching is None:
        return None
    again = {name for name in edges if reaching[place[name]]}
    return {name for name in edges if reaching[place[name] + 1]} - again, again


def _reaching_the_sink(
    lines: NDArray[np.int32], nodes: int, never: int
) -> NDArray[np.bool_] | None:
    """Return the nodes from which more could flow to the sink; None if too much flows."""
    start, end, capacity = lines.T
    graph = csr_array((capacity, (start, end)), shape=(nodes, nodes))
    graph.sum_duplicates()
    result = maximum_flow(graph, _SOURCE, _SINK)
    if result.flow_value >= never:
        return None
    left = csr_array(graph - result.flow)
    left.data = (left.data > 0).astype(np.int32)
    left.eliminate_zeros()
    reaching = np.zeros(nodes, dtype=bool)
    reaching[breadth_first_order(csr_array(left.T), _SINK, return_predecessors=False)] = True
    return reaching


_SOURCE, _SINK = 0, 1
_DEAR = frozenset(
    (
        *("matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "baddbmm", "addmm", "addbmm"),
        *("einsum", "linear", "bilinear", "cdist", "conv1d", "conv2d", "conv3d"),
        *("scaled_dot_product_attention", "multi_head_attention_forward"),
        *("lstm", "gru", "rnn_tanh", "rnn_relu"),
    )
)
