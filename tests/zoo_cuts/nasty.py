"""All the small networks that were written to be nasty."""

from tests.zoo_cuts.nasty_answers import ANSWERS
from tests.zoo_cuts.nasty_flow import FLOW
from tests.zoo_cuts.nasty_layers import LAYERS
from tests.zoo_cuts.nasty_sequences import SEQUENCES
from tests.zoo_cuts.nasty_writes import WRITES
from tests.zoo_cuts.net import Net

NASTY: dict[str, Net] = {**WRITES, **FLOW, **ANSWERS, **LAYERS, **SEQUENCES}
