"""Small networks that were written to be cut wrongly."""

from tests.laws.zoo.hostile import (
    answers,
    flow,
    layers,
    prompts,
    sequences,
    transforms,
    writes,
)
from tests.laws.zoo.net import Net

HOSTILE = {}
for module in (writes, flow, answers, layers, sequences, prompts, transforms):
    nets = {name: net for name, net in vars(module).items() if isinstance(net, Net)}
    HOSTILE |= nets
