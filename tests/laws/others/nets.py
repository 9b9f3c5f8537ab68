"""All networks of others, by library and name."""

from __future__ import annotations

from tests.laws.others.timm_nets import TIMM
from tests.laws.others.transformers_senses import SENSES
from tests.laws.others.transformers_text import READERS
from tests.laws.zoo.net import Net

OTHERS: dict[str, Net] = {f"timm/{name}": net for name, net in TIMM.items()}
OTHERS |= {f"transformers/{name}": net for name, net in {**READERS, **SENSES}.items()}
