"""The order of jobs in a shard."""

from hypothesis import given, strategies as st

from scenarios.options import JobOptions


@given(st.integers(1, 12), st.integers(0, 40))
def test_a_shard_begins_with_its_own_jobs_and_ends_with_those_others_begin_with(
    of, size
):
    """Each job is there once; of another's jobs the one that comes last there is taken up first."""
    for number in range(1, of + 1):
        order = JobOptions(shard=f"{number}/{of}").ordered(range(size))
        own = [job for job in range(size) if job % of == number - 1]
        assert sorted(order) == list(range(size))
        assert order[: len(own)] == own
        for other in set(range(of)) - {number - 1}:
            theirs = [job for job in order if job % of == other]
            assert theirs == sorted(theirs, reverse=True)
