"""GeppNet+STM: a short-term memory of novel examples, replayed in sleep phases."""

from collections import deque
from functools import cached_property

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from probe.examples import Examples
from probe.tasks import Task
from scenarios.learners.catalog import learner
from scenarios.learners.kemker.geppnet import Geppnet, MapSettings
from scenarios.learners.kemker.online_map import OnlineMap
from scenarios.learners.kemker.som import longest_block


class GeppnetStmSettings(MapSettings):
    """Those of `MapSettings`, and the memory's.

    memory: its examples, which follow from Kemker 2018's table 2: the sizes of GeppNet+STM exceed
    GeppNet's by 0.94 MB on MNIST, 2.46 on CUB-200 and 1.54 on AudioSet, 300 examples of 784, 2,048
    and 1,280 numbers of 4 bytes. sleep_interval: iterations between sleep phases, ours: of 500,
    1,000, 2,000 and 4,000, the one with the Omega_new nearest to table 2's on held-out training
    data of MNIST.
    """

    memory: int = Field(default=300, ge=1, le=100_000)
    sleep_interval: int = Field(default=2000, ge=1, le=100_000_000)


class ShortTermMemory:
    """A queue of up to `size` labelled examples (D,); a further one replaces the oldest.

    >>> memory = ShortTermMemory(2, like=torch.zeros(1, 3))
    >>> for label in range(3):
    ...     memory.put(torch.full((3,), float(label)), label)
    >>> memory.examples.y.tolist(), memory.recall(torch.zeros(3)), memory.recall(torch.ones(3))
    ([1, 2], None, 1)
    """

    def __init__(self, size: int, like: Tensor) -> None:
        self._like = like.new_empty(0, like.shape[1])
        self._held = deque[tuple[bytes, Tensor, int]](maxlen=size)
        # Full or not.
        self.bytes = size * (like.shape[1] * like.element_size() + torch.int64.itemsize)

    def __len__(self) -> int:
        return len(self._held)

    @property
    def examples(self) -> Examples:
        """The examples stored now (n, D), the oldest first."""
        x = [self._like, *(x[None] for _, x, _ in self._held)]
        y = torch.tensor([label for *_, label in self._held], dtype=torch.int64)
        return Examples(torch.cat(x), y.to(self._like.device))

    def put(self, x: Tensor, label: int) -> None:
        """Store one example (D,)."""
        self._held.append((_bytes(x), x.clone(), label))

    def recall(self, x: Tensor) -> int | None:
        """Return the latest label of exactly this input (D,), None if it is not stored."""
        key = _bytes(x)
        return next((label for k, _, label in reversed(self._held) if k == key), None)

    def empty(self) -> None:
        """Forget everything."""
        self._held.clear()


def _bytes(x: Tensor) -> bytes:
    return x.contiguous().view(torch.uint8).cpu().numpy().tobytes()


@learner("geppnet_stm")
class GeppnetStm(Geppnet):
    """GeppNet with a short-term memory, replayed in sleep phases (Gepperth and Karaoguz 2016).

    In later sessions novel examples change neither map nor readout but enter the memory. After
    every `sleep_interval` iterations, and after the last, a sleep phase trains both on each example
    in memory once, the oldest first, still novel or not. The memory retains them until newer ones
    replace them, and is emptied at the end of the session, "which is when the model is evaluated"
    (Kemker 2018). It answers for its inputs: their `scores` are their label as a one-hot vector, so
    that they are not novel.

    Features: those of GeppNet; the memory has no part in partial retraining.

    Source: as GeppNet. Ours, as the paper does not say: when to sleep, the order and number of
    replays, and the memory after a sleep. As it says, all examples of all sessions are stored, and
    an old one is replayed where the model is uncertain of it: where it is drawn and enters the
    memory.
    """

    settings_class = GeppnetStmSettings
    settings: GeppnetStmSettings

    @cached_property
    def memory(self) -> ShortTermMemory:
        """The short-term memory, empty when a session begins and ends."""
        prototypes = self.model.get_parameter("som.prototypes").detach()
        return ShortTermMemory(self.settings.memory, like=prototypes)

    def later_session(self, network: OnlineMap, data: Examples) -> None:
        own = self.settings
        shares = network.shares(own.final_som_rate, own.final_radius)
        block = longest_block(own.final_som_rate)
        for x, y in self.draws(data, own.iterations, own.sleep_interval):
            # Awake nothing is learned: novelty is told for the whole block at once.
            novel = (network.margins(x, y) < own.threshold).nonzero().squeeze(1)
            for one, label in zip(x[novel], y[novel].tolist(), strict=True):
                # An input that the memory answers rightly is not novel, and not stored twice.
                if self.memory.recall(one) != label:
                    self.memory.put(one, label)
            stored = self.memory.examples
            for replayed, labels in zip(stored.x.split(block), stored.y.split(block), strict=True):
                network.learn(replayed, labels, shares)

    def end(self, task: Task) -> None:
        super().end(task)
        self.memory.empty()

    def scores(self, x: Tensor) -> Tensor:
        scores = super().scores(x)
        if not len(self.memory):
            return scores
        known = [self.memory.recall(one) for one in x.flatten(1)]
        answered = [k for k, label in enumerate(known) if label is not None]
        labels = torch.tensor([known[k] for k in answered], dtype=torch.int64, device=x.device)
        scores[answered] = functional.one_hot(labels, scores.shape[1]).to(scores)
        return scores

    def stored_bytes(self) -> int:
        # The memory has no part in the first session.
        return super().stored_bytes() + (self.memory.bytes if self.learned else 0)
