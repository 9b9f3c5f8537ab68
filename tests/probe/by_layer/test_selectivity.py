"""What a readout memorises: random features and permuted labels, of few and of many examples."""

import pytest
import torch
from torch import nn

from probe import Examples, Measure, analyze

K = 4


@pytest.mark.parametrize(("examples", "numbers"), [(600, 2), (40, 200)])
def test_many_numbers_of_few_examples_are_memorised_and_sample_of_many_are_not(
    examples, numbers
):
    draw = torch.Generator().manual_seed(0)
    drawn = ((torch.randn(n, numbers, generator=draw), n) for n in (examples, 400))
    train, test = (Examples(x, torch.arange(n) % K) for x, n in drawn)
    net = nn.Sequential(nn.Identity(), nn.Linear(numbers, K))
    measure = Measure(readouts=["linear", "ncm"], controls=["labels"])
    found = analyze(
        {2: net},
        train,
        test,
        [[0, 1], [2, 3]],
        ["0"],
        net,
        readouts=measure,
    )
    own = list(found.tables()["controls"].query("learner == 'model'").itertuples())
    assert [(row.readout, row.feature) for row in own] == [
        ("linear", "0"),
        ("ncm", "0"),
    ]
    for row in own:
        assert row.accuracy == pytest.approx(1 / K, abs=0.1)
        assert row.control == pytest.approx(1 if numbers > examples else 1 / K, abs=0.1)
        assert row.value == pytest.approx(row.accuracy - row.control)
