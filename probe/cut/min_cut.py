"""Minimum cuts: the fewest bytes of a frozen part from which the rest can be computed.

The values of a forward pass form a graph: an edge leads from each value to those
computed from it. Some frozen values are *wanted*: the trained part reads them. Keeping
exactly these is not always cheapest: the input of an upsampling, a concatenation or a
norm without parameters may have fewer bytes, and the wanted values can be computed
again from it.

Every value has a price, its bytes per example. An edge leads from the source of the
graph to each value that must not be computed again: the input, and values that depend
on parameters or chance or take much time. An edge leads from each wanted value to the
sink. A set of values that every path from the source to the sink passes through is a
*cut*. Keeping a cut is enough, and nothing less is:

- Enough. Call a value *behind* the cut if every path to it passes through a kept value,
  which may be the value itself. Take such a value that is not kept. The source has no
  edge to it, so it can be computed again from its parents. Each parent is behind the
  cut, as otherwise a path through it would avoid all kept values. So everything behind
  the cut can be computed in the order of execution, and the wanted values are behind
  it.
- Needed. If a path to a wanted value passes through no kept value, the first value on
  it is missing. A value is computed from all of its parents, so the next value on the
  path cannot be computed either, and so on to the wanted one.

So the cheapest set is a minimum cut, and it is found as the maximum flow from source to
sink (Ford and Fulkerson 1956: the two are equal). A flow has capacities on edges, not
on values: each value is therefore a pair of nodes, `in` and `out`, with its price as
the capacity from `in` to `out`. All other edges have more capacity than all prices
together, so that no minimum cut uses one of them. If there are several minimum cuts,
the last is used, as it leaves the fewest values to compute again.
"""

from collections.abc import Set as AbstractSet

import numpy as np

from probe.cut.names import FOREIGN, INPUT, Name, Names, of_input
from probe.cut.trace import Pass

Calls = AbstractSet[int]
"""The numbers of calls."""

Sources = dict[Name, Names]
"""For each value, the values that it can be computed from again; empty if it cannot be."""


def minimum_cut(
    trained_pass: Pass,
    upstream: Calls,
    state: Calls,
    costs: dict[Name, int],
    steady: Calls,
) -> tuple[Names, dict[int, bool]] | None:
    """Find the cheapest values from which the trained part of a forward pass can be computed.

    Only values that need no parameters and, if possible, little time are recomputed.

    For a convolution (weight 8), an upsampling and a linear layer (weight 9), cut after
    the upsampling, the 4 bytes before the upsampling are kept and not the 16 after it:

    >>> from probe.cut.trace import Step
    >>> weight, other = (8, 0), (9, 0)
    >>> conv = Step("conv2d", (INPUT, weight), ((0, 0),))
    >>> up = Step("interpolate", ((0, 0),), ((1, 0),))
    >>> head = Step("linear", ((1, 0), other), ((2, 0),))
    >>> seen = Pass({0: conv, 1: up, 2: head}, visits=[], logits=(2, 0), shapes={})
    >>> kept, again = minimum_cut(seen, {8, 0, 1}, {8, 9}, {(0, 0): 4, (1, 0): 16}, set())
    >>> kept, again[0], again[1]
    (((0, 0),), False, True)

    Args:
        trained_pass: The forward pass in the modes in which the tail is trained.
        upstream: The calls that the feature depends on, which are frozen.
        state: The calls that stand for parameters and buffers.
        costs: Bytes per example of each value that may be kept.
        steady: The calls downstream of the feature that are deterministic: their
            results from frozen values are frozen too.

    Returns:
        The values to keep, and for each call on frozen values, by its number, whether
        the tail computes it again; None if there is nothing to keep, or nothing that
        may be kept.
    """
    frozen = _frozen(trained_pass, upstream, state, steady)
    # Values that depend on parameters only are the same for every example: the tail
    # computes them again.
    varying = _depending(trained_pass, {INPUT[0]}) & frozen
    read = {trained_pass.logits}
    for number in trained_pass.steps.keys() - frozen:
        read.update(trained_pass.steps[number].parents)
    wanted = {name for name in read if name[0] in varying}
    if not wanted:
        return None
    # Parameters, buffers, and values computed from them alone: what uses one is not
    # computed again.
    fixed = (_depending(trained_pass, state) - varying) | {*state}
    # Values that take much time are computed again only if there is no other cut.
    for cheap in (True, False):
        sources = _sources(trained_pass, varying, fixed, cheap)
        cut = _cheapest(sources, wanted, costs)
        if cut is not None:
            break
    else:
        return None
    names, computed = cut
    # Calls are run again only behind the cut; caching saves those before it.
    again = dict.fromkeys(upstream, False)
    for number in frozen & trained_pass.steps.keys():
        step = trained_pass.steps[number]
        again[number] = number not in varying or not computed.isdisjoint(step.names)
    return tuple(sorted(names)), again


def _frozen(
    trained_pass: Pass,
    upstream: Calls,
    state: Calls,
    steady: Calls,
) -> set[int]:
    """Return the calls whose values neither training nor chance changes.

    These are the calls upstream of the feature, and two kinds of calls that use frozen
    values only: steady calls, such as a ReLU after the feature, whose result may take
    fewer bytes; and slices that the logits do not depend on, such as those that fill a
    language model's cache.

    Args:
        trained_pass: A forward pass in training mode, whose calls are numbered in order.
        upstream: The calls upstream of the feature.
        state: The calls that give parameters and buffers.
        steady: The calls that give the same value in training mode as in eval mode.
    """
    # The inputs, and constants that the model holds without registering them.
    frozen = {*upstream, INPUT[0], FOREIGN[0]}
    needed = trained_pass.upstream([trained_pass.logits])
    drawn = {number for number, step in trained_pass.steps.items() if step.random}
    moved = _depending(trained_pass, (state - frozen) | drawn)
    for number, step in trained_pass.steps.items():
        fixed = all(parent[0] in frozen for parent in step.parents)
        # A call that returns no tensor, as `item`, tells the code a number. From one that
        # training moves on, the code may act on it, and no further call is frozen.
        if number in moved and not fixed and not step.names:
            break
        writes_state = any(step.parents[at][0] in state for at in step.overwritten)
        unread = step.function == "__getitem__" and number not in needed
        fixed &= number in steady or unread
        if fixed and not step.random and not writes_state:
            frozen.add(number)
    return frozen


def _depending(trained_pass: Pass, roots: Calls) -> set[int]:
    """Return the calls that depend on any of the roots, including the roots."""
    depending = set(roots)
    for number, step in trained_pass.steps.items():
        if any(parent[0] in depending for parent in step.parents):
            depending.add(number)
    return depending


def _sources(
    trained_pass: Pass,
    varying: Calls,
    fixed: Calls,
    cheap: bool,
) -> Sources:
    """Return the values that each frozen value can be computed from again, empty if it cannot be.

    Values that use the `fixed` calls, which are or come from parameters, are not
    computed again, as the tail would then hardly be faster than the model. Neither are
    random values, which would differ, nor, if `cheap`, values that take floating-point
    operations of matrices. varying: the frozen calls that depend on the input.
    """
    inputs = {INPUT}
    for step in trained_pass.steps.values():
        inputs.update(filter(of_input, step.parents))
    sources: Sources = dict.fromkeys(sorted(inputs), ())
    for number, step in trained_pass.steps.items():
        if number in varying:
            is_single = step.random or (cheap and step.work > 0)
            is_single |= any(parent[0] in fixed for parent in step.parents)
            parents = tuple(parent for parent in step.parents if parent[0] in varying)
            sources.update(dict.fromkeys(step.names, () if is_single else parents))
    return sources


def _cheapest(
    sources: Sources,
    wanted: set[Name],
    costs: dict[Name, int],
) -> tuple[set[Name], set[Name]] | None:
    """Return the values to keep and those to compute again, or None if no cut is possible.

    sources: the values that each value can be computed from; a value without costs is
        never kept.
    """
    # Imported where a network is cut, as they take a tenth of a second.
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    # scipy's flows are 32-bit numbers: beyond 2^29 bytes prices are rounded to one part
    # in that.
    unit = 1 + sum(costs.values()) // 2**29
    price = {name: max(1, size // unit) for name, size in costs.items()}
    # More than all that may be kept together: a cut that costs this much would pass
    # through an edge between two values, or through a value that must not be kept.
    never = 1 + sum(price.values())
    node_in = {name: 2 + 2 * index for index, name in enumerate(sources)}
    edges = _edges(sources, wanted, price, never, node_in)
    start, end, capacity = np.array(edges, dtype=np.int32).T
    graph = csr_array((capacity, (start, end)), shape=(2 + 2 * len(sources),) * 2)
    result = maximum_flow(graph, _SOURCE, _SINK)
    if result.flow_value >= never:
        return None
    # Once the flow is at its maximum, no more can flow from the source to the sink. The
    # nodes from which more could still flow to the sink are the smallest part that any
    # minimum cut leaves behind it, so that this cut is the last one.
    residual = csr_array((graph - result.flow > 0).T)
    behind = {*breadth_first_order(residual, _SINK, return_predecessors=False).tolist()}
    # The cut runs through the values whose `in` is before it and whose `out` is behind
    # it.
    computed = {name for name in sources if node_in[name] in behind}
    reached = {name for name in sources if node_in[name] + 1 in behind}
    return reached - computed, computed


def _edges(
    sources: Sources,
    wanted: set[Name],
    price: dict[Name, int],
    never: int,
    node_in: dict[Name, int],
) -> list[tuple[int, int, int]]:
    """Return the edges (start, end, capacity) of the graph that the module's docstring describes.

    never: the capacity of edges that no minimum cut goes through; node_in: the `in` of
        each value, whose `out` is the next node.
    """
    edges = [(node_in[name] + 1, _SINK, never) for name in wanted]
    for name, parents in sources.items():
        edges.append((node_in[name], node_in[name] + 1, price.get(name, never)))
        starts = [node_in[parent] + 1 for parent in parents] or [_SOURCE]
        edges += [(start, node_in[name], never) for start in starts]
    return edges


# The numbers of these nodes; a value's `in` is even, its `out` the next.
_SOURCE = 0
_SINK = 1
