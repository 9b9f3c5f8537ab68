"""Explicit randomness: a separate stream for every use, from a seed and a purpose.

Global generators are only used inside the `with` blocks below, which restore their
state, so that a run resumed from a checkpoint draws the same numbers as an
uninterrupted one. They belong to the process: of its threads, one at a time is inside
these blocks.
"""

import hashlib
import os
import random
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from multiprocessing import parent_process
from typing import ParamSpec, TypeVar

import numpy as np
import torch

from probe.errors import InputError

_P = ParamSpec("_P")
_T = TypeVar("_T")
PROCESS = threading.RLock()
"""The lock of what belongs to the process: generators, torch's number of threads, its flags."""
# Another thread may hold it when the process is forked, and is not in the child.
os.register_at_fork(after_in_child=PROCESS._at_fork_reinit)  # type: ignore[attr-defined]


_OTHER_DREW = (
    "another thread draws from torch's global generator, and both get wrong numbers: "
    "run one after the other, or in another process"
)


def stream(seed: int, *purpose: str | int) -> torch.Generator:
    """Return a CPU generator that depends on the seed and the purpose and on nothing else.

    Two purposes give unrelated streams, so that adding a draw to one changes no other.

    >>> int(torch.randint(9, (), generator=stream(0, "tail", "conv1"))) == int(
    ...     torch.randint(9, (), generator=stream(0, "tail", "conv1")))
    True
    """
    # repr tells ("a", 1) from ("a1",) and from ("a", "1"); 63 bits, as torch's seeds
    # are signed.
    digest = hashlib.blake2b(repr((seed, *purpose)).encode(), digest_size=8).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest, "big") >> 1)


def permutation(n: int, generator: torch.Generator) -> torch.Tensor:
    """Return 0 to n - 1 in random order (n,), on the CPU whatever torch's default device is."""
    return torch.randperm(n, generator=generator, device="cpu")


def one_at_a_time(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Let the threads of a process call all functions with this decorator one after the other.

    Generators, the number of torch's threads and its flags of precision belong to the
    process. What the user's code draws or sets there is restored, see
    `python_generators`. A warning says if another thread drew numbers of torch's, as it
    then drew some that were meant for these.
    """

    @wraps(function)
    def locked(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        with python_generators():
            before = torch.get_rng_state()
            result = function(*args, **kwargs)
        if threading.active_count() > 1 and not torch.equal(
            before, torch.get_rng_state()
        ):
            warnings.warn(_OTHER_DREW, stacklevel=2)
        return result

    return locked


@contextmanager
def no_other_draws() -> Iterator[None]:
    """Check that no other thread draws from torch's global generator within the block.

    Nothing in the block may draw. A training in another thread is noticed after some
    steps.

    Raises:
        InputError: Another thread has drawn numbers.
    """
    # A worker process has threads only of ours.
    others = threading.active_count() > 1 and parent_process() is None
    state = torch.get_rng_state() if others else None
    yield
    if state is not None and not torch.equal(state, torch.get_rng_state()):
        raise InputError(_OTHER_DREW)


@contextmanager
def global_stream(generator: torch.Generator) -> Iterator[None]:
    """Seed torch's global generators from `generator` within the block.

    Dropout and `reset_parameters` of modules draw from the global state, which is
    restored afterwards, also after a failure.
    """
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    seed = int(torch.randint(2**62, (), generator=generator, device="cpu"))
    with PROCESS, torch.random.fork_rng(devices=devices):
        # Not torch.manual_seed: where no GPU is in use yet it would seed those of
        # later.
        torch.default_generator.manual_seed(seed)
        if devices:
            torch.cuda.manual_seed_all(seed)
        yield


@contextmanager
def python_generators() -> Iterator[None]:
    """Restore the global generators of `random` and numpy, and torch's default type."""
    with PROCESS:
        python_state = random.getstate()
        numpy_state = np.random.get_state()  # noqa: NPY002
        default_type = torch.get_default_dtype()
        try:
            yield
        finally:
            random.setstate(python_state)
            np.random.set_state(numpy_state)  # noqa: NPY002
            torch.set_default_dtype(default_type)


@contextmanager
def every_global_stream(generator: torch.Generator) -> Iterator[None]:
    """Seed the global generators of torch, `random` and numpy within the block.

    A model may draw its masks from any of them. Torch's generators draw the same
    numbers as within `global_stream`.
    """
    with python_generators(), global_stream(generator):
        seed = torch.initial_seed()
        random.seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002
        yield


def python_draws() -> Callable[[], bool]:
    """Return a function that tells whether `random` or numpy has drawn numbers since."""

    def states() -> object:
        name, keys, *counts = np.random.get_state()  # noqa: NPY002
        return random.getstate(), name, np.asarray(keys).tobytes(), counts

    before = states()
    return lambda: states() != before


def draws() -> Callable[[], bool]:
    """Return a function that tells whether any global generator has drawn numbers since."""
    in_python = python_draws()
    before = global_states()
    return lambda: in_python() or not all(map(torch.equal, before, global_states()))


def global_states() -> list[torch.Tensor]:
    """Return the states of torch's global generators, uint8 vectors, of the CPU and every GPU.

    They differ after anything was drawn.

    >>> before = global_states()
    >>> _ = torch.zeros(3).mul(2)
    >>> all(map(torch.equal, before, global_states()))
    True
    """
    states = [torch.get_rng_state()]
    if torch.cuda.is_initialized():
        states += torch.cuda.get_rng_state_all()
    return states
