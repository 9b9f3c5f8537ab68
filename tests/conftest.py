"""One torch thread: two on two busy cores can be many times slower, and results depend on it."""

import pytest
import torch


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)
