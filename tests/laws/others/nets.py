"""All networks of others, by library and name."""

from __future__ import annotations

from tests.laws.others.timm_nets import TIMM
from tests.laws.zoo.net import Net

OTHERS: dict[str, Net] = {f"timm/{name}": net for name, net in TIMM.items()}
