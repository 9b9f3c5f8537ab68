"""The grammar of stored names: what is printed is parsed as it was."""

from hypothesis import given, strategies as st

from probe.stored_names import (
    PutBack,
    ReadoutName,
    blocks_in,
    compared_step,
    name_of_blocks,
    similarity_name,
)

NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True).filter(
    lambda name: name not in {*PutBack}
)
NUMBERS = st.integers(1, 10_000)
READOUTS = st.builds(
    ReadoutName,
    base=NAMES,
    per_class=st.none() | NUMBERS,
    budget=NUMBERS,
    reestimates=st.booleans(),
)
PARTS = st.sampled_from([PutBack.UPSTREAM, PutBack.BLOCK])
OF_REWOUND = st.builds(
    ReadoutName,
    base=NAMES,
    per_class=st.none() | NUMBERS,
    put_back=PARTS,
    since=NUMBERS,
) | st.builds(ReadoutName, put_back=st.just(PutBack.SETS), since=NUMBERS)


@given(READOUTS | OF_REWOUND | st.just(ReadoutName()))
def test_a_readout_is_parsed_as_it_was_printed(name):
    assert ReadoutName.parse(str(name)) == name


@given(st.lists(NAMES, max_size=4), NUMBERS)
def test_blocks_and_steps_are_parsed_as_they_were_printed(blocks, step):
    assert blocks_in(name_of_blocks(blocks)) == tuple(blocks)
    assert compared_step(similarity_name(step)) == step
    assert compared_step(similarity_name("offline")) is None
