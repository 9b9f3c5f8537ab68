"""Diagnostics of features: dead units, rank, and similarity to the same feature elsewhere."""

import math
from collections.abc import Iterator, Mapping, Sequence

import torch

from probe.analysis.similarity import Compared
from probe.analysis.units import Activity, effective_rank
from probe.by_layer.jobs import peers_of
from probe.by_layer.measurement import Key, Measurement
from probe.by_layer.pass_context import PassContext
from probe.by_layer.plan import OFFLINE
from probe.readouts.matrix import Matrices, feature_matrices
from probe.stored_names import Peer, similarity_name

_MOST = 2**28  # bytes of the matrices of earlier networks, together


def keep_to_compare(
    context: PassContext,
    peer: Peer,
    matrices: Matrices,
) -> None:
    """Keep a network's matrices, if they are small, to compare the last network with it.

    Args:
        context: The job.
        peer: The network.
        matrices: Its matrices of the test data.
    """
    kept_bytes = 0
    for matrices_of_peer in (matrices, *context.earlier.values()):
        kept_bytes += sum(x.nbytes for x, _ in matrices_of_peer.values())
    if kept_bytes <= _MOST:
        context.earlier[peer] = matrices


def diagnose(
    context: PassContext,
    keys: Sequence[Key],
    activities: Mapping[str, Activity],
    matrices: Matrices,
) -> Iterator[tuple[Key, Measurement]]:
    """Yield the diagnostics of features.

    Args:
        context: The job.
        keys: The key of each feature's diagnostics.
        activities: The activity of each feature's units.
        matrices: The features' matrices of the test data.

    Yields:
        Each key with its measurement.
    """
    diagnostics: dict[str, dict[str, float]] = {}
    compared: dict[str, Compared] = {}
    for feature in dict.fromkeys(key.feature for key in keys):
        values = matrices[feature][0]
        compared[feature] = Compared(values)
        diagnostics[feature] = {
            **activities[feature].shares(),
            "width": float(values.shape[1]),
            "rank": effective_rank(values),
        }
    for peer in peers_of(context.plan, context.job):
        matrices_of_peer = _matrices_of(context, peer, list(diagnostics))
        for feature, numbers in diagnostics.items():
            values = matrices[feature][0]
            peer_values = matrices_of_peer[feature][0]
            # Only equal values, as of a frozen layer, have exactly 1.
            similarity = 1.0
            if not torch.equal(values, peer_values):
                below_1 = math.nextafter(1, 0)
                similarity = min(compared[feature].cka(peer_values), below_1)
            numbers[similarity_name(peer)] = similarity
    for key in keys:
        yield key, context.measurement({}, values=diagnostics[key.feature])


def _matrices_of(
    context: PassContext,
    peer: Peer,
    features: Sequence[str],
) -> Matrices:
    """Return the matrices of a peer: those kept, which are given up, or computed now."""
    matrices = context.earlier.pop(peer, {})
    if matrices.keys() >= set(features):
        return matrices
    peer_network = context.networks.peer_network
    model = context.offline() if peer == OFFLINE else peer_network(peer)
    cuts = context.cuts(model, features)
    return feature_matrices(cuts, context.scenario.test.x)
