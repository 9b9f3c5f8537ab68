"""Explicit randomness: every use of chance has its own stream, from a seed and a purpose."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch


def stream(seed: int, *purpose: str | int) -> torch.Generator:
    """Return a CPU generator that depends on the seed and the purpose and on nothing else.

    Two purposes give unrelated streams, so that adding a draw to one changes no other.

    >>> int(torch.randint(9, (), generator=stream(0, "tail", "conv1"))) == int(
    ...     torch.randint(9, (), generator=stream(0, "tail", "conv1")))
    True
    """
    digest = hashlib.blake2b(repr((seed, *purpose)).encode(), digest_size=8).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest, "big") >> 1)


@contextmanager
def global_stream(generator: torch.Generator) -> Iterator[None]:
    """Lend torch's global generators, seeded from `generator`, to code that can use no other.

    Dropout and the modules' own `reset_parameters` draw from the global state; it is restored
    afterwards, also after a failure.
    """
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(int(torch.randint(2**62, (), generator=generator)))
        yield


def global_states() -> list[torch.Tensor]:
    """Return the states of torch's global generators: they differ after anything was drawn.

    >>> before = global_states()
    >>> _ = torch.zeros(3).mul(2)
    >>> all(map(torch.equal, before, global_states()))
    True
    """
    on_cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return [torch.get_rng_state(), *on_cuda]
