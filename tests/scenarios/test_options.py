"""The order of jobs in a shard."""

from hypothesis import given, strategies as st

from scenarios.options import shard_order

shards = st.integers(1, 12).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n)))


@given(shards, st.integers(0, 40))
def test_an_order_holds_every_job_once_and_its_own_first(shard: tuple[int, int], size: int) -> None:
    number, of = shard
    order, jobs = shard_order(range(size), number, of), list(range(size))
    assert sorted(order) == jobs
    own = [job for job in jobs if job % of == number - 1]
    assert order[: len(own)] == own


@given(st.integers(2, 12), st.integers(1, 40))
def test_what_others_begin_with_is_helped_with_last(of: int, size: int) -> None:
    """Of another's jobs a shard takes up first the one that the other comes to last."""
    for number in range(1, of + 1):
        order = shard_order(range(size), number, of)
        for other in set(range(of)) - {number - 1}:
            theirs = [job for job in order if job % of == other]
            assert theirs == sorted(theirs, reverse=True)
