"""Lent generators: they draw what their stream says and come back as they were."""

from __future__ import annotations

import pytest
import torch

from probe.seeding import global_states, global_stream, stream


def test_the_global_generator_draws_what_the_stream_says_and_comes_back() -> None:
    before = global_states()
    seed = int(torch.randint(2**62, (), generator=stream(3, "dropout")))
    expected = torch.rand(5, generator=torch.Generator().manual_seed(seed))
    drawn = []

    def fail() -> None:
        with global_stream(stream(3, "dropout")):
            drawn.append(torch.rand(5))
            raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        fail()
    assert torch.equal(drawn[0], expected)
    assert all(map(torch.equal, before, global_states()))


@pytest.mark.skipif(torch.cuda.is_initialized(), reason="a GPU is in use already")
def test_a_gpu_that_is_used_later_is_not_seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch keeps a seed for it until then: it would stay when the block has long ended."""
    seeds: list[int] = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeds.append)
    with global_stream(stream(0)):
        pass
    assert not seeds
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(0)
    assert seeds  # which is why torch.manual_seed is not used
