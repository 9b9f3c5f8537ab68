"""Explicit randomness: a separate stream for every use, from a seed and a purpose.

Global generators are only used inside the `with` blocks below, which restore their state, so that a
run resumed from a checkpoint draws the same numbers as an uninterrupted one.
"""

import hashlib
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch


def stream(seed: int, *purpose: str | int) -> torch.Generator:
    """Return a CPU generator that depends on the seed and the purpose and on nothing else.

    Two purposes give unrelated streams, so that adding a draw to one changes no other.

    >>> int(torch.randint(9, (), generator=stream(0, "tail", "conv1"))) == int(
    ...     torch.randint(9, (), generator=stream(0, "tail", "conv1")))
    True
    """
    # repr tells ("a", 1) from ("a1",) and from ("a", "1"); 63 bits, as torch's seeds are signed.
    digest = hashlib.blake2b(repr((seed, *purpose)).encode(), digest_size=8).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest, "big") >> 1)


def permutation(n: int, generator: torch.Generator) -> torch.Tensor:
    """Return 0 to n - 1 in random order (n,), on the CPU whatever torch's default device is."""
    return torch.randperm(n, generator=generator, device="cpu")


@contextmanager
def global_stream(generator: torch.Generator) -> Iterator[None]:
    """Seed torch's global generators from `generator` within the block.

    Dropout and `reset_parameters` of modules draw from the global state, which is restored
    afterwards, also after a failure.
    """
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    seed = int(torch.randint(2**62, (), generator=generator, device="cpu"))
    with torch.random.fork_rng(devices=devices):
        # Not torch.manual_seed: where no GPU is in use yet it would seed those of later.
        torch.default_generator.manual_seed(seed)
        if devices:
            torch.cuda.manual_seed_all(seed)
        yield


@contextmanager
def python_generators() -> Iterator[None]:
    """Restore the global generators of `random` and numpy after the block."""
    ours, numpys = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(ours)
        np.random.set_state(numpys)  # noqa: NPY002


@contextmanager
def every_global_stream(generator: torch.Generator) -> Iterator[None]:
    """Seed the global generators of torch, `random` and numpy within the block.

    A model may draw its masks from any of them. Torch's generators draw the same numbers as within
    `global_stream`.
    """
    with python_generators(), global_stream(generator):
        seed = torch.initial_seed()
        random.seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002
        yield


def python_draws() -> Callable[[], bool]:
    """Return a function that tells whether `random` or numpy has drawn numbers since."""

    def states() -> object:
        state = np.random.get_state(legacy=False)  # noqa: NPY002
        values = [*state.pop("state").values(), *state.values()]
        return random.getstate(), [x.tobytes() if isinstance(x, np.ndarray) else x for x in values]

    before = states()
    return lambda: states() != before


def global_states() -> list[torch.Tensor]:
    """Return the states of torch's global generators, uint8 vectors, of the CPU and every GPU.

    They differ after anything was drawn.

    >>> before = global_states()
    >>> _ = torch.zeros(3).mul(2)
    >>> all(map(torch.equal, before, global_states()))
    True
    """
    on_cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return [torch.get_rng_state(), *on_cuda]
