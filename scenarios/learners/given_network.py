"""A network that is given as a file: of which run it is, and after how many tasks."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class GivenNetwork(BaseModel):
    """A file of one network: of which run, after how many tasks.

    order: empty for one that knows no order; step: tasks learned, from 0; path: absolute; hash: of
    its tensors.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    order: str
    seed: int
    step: int
    path: str
    hash: str
