"""Whole sessions of GeppNet and GeppNet+STM as plainly as possible, on joined data."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from probe.examples import join
from probe.seeding import stream
from scenarios.learners.kemker.geppnet import MapSettings
from scenarios.learners.kemker.geppnet_stm import GeppnetStmSettings
from scenarios.streams.task import Task
from tests.laws.plain_map import Array, ByUnit

Drawn = list[tuple[Array, int]]


def sessions(model: nn.Module, settings: MapSettings, tasks: Sequence[Task]) -> ByUnit:
    """Learn all tasks, the first as the base session."""
    plain = ByUnit(model, settings.readout_rate)
    base(plain, settings, drawn(tasks[:1], settings.base_iterations))
    for done in range(2, len(tasks) + 1):
        some = drawn(tasks[:done], settings.iterations)
        if isinstance(settings, GeppnetStmSettings):
            asleep(plain, settings, some)
        else:
            for x, label in some:
                plain.learn(x, label, *constant(settings), settings.threshold)
    return plain


def constant(settings: MapSettings) -> tuple[float, float]:
    return settings.final_som_rate, settings.final_radius


def drawn(tasks: Sequence[Task], count: int) -> Drawn:
    data = join([task.train for task in tasks])
    places = torch.randint(len(data), (count,), generator=stream(0, "draws", len(tasks) - 1))
    some = data.take(places)
    return list(zip(some.x.flatten(1).numpy(), some.y.tolist(), strict=True))


def base(plain: ByUnit, settings: MapSettings, some: Drawn) -> None:
    alone = round(settings.alone * settings.base_iterations)
    for k, (x, label) in enumerate(some):
        if k >= alone:
            plain.learn(x, label, *constant(settings))
            continue
        first = settings.som_rate, max(settings.rows, settings.columns) / 2
        now = (
            start * (end / start) ** (k / alone)
            for start, end in zip(first, constant(settings), strict=True)
        )
        plain.organize(x, *now)


def asleep(plain: ByUnit, settings: GeppnetStmSettings, some: Drawn) -> None:
    memory: deque[tuple[Array, int]] = deque(maxlen=settings.memory)
    for k, (x, label) in enumerate(some, 1):
        held = any(np.array_equal(x, old) and label == c for old, c in memory)
        if not held and plain.margin(x, label) < settings.threshold:
            memory.append((x, label))
        if k % settings.sleep_interval == 0 or k == len(some):
            for old, c in memory:
                plain.learn(old, c, *constant(settings))
