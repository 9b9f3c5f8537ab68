"""What does not fit the data is refused before anything is learned or written."""

import pytest

from probe.errors import InputError
from tests.scenarios.tiny_run import TINY


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "[learners.finetune]",
            "[learners.finetune]\nexemplars = { total = 9 }",
            "total of 9 exemplars leaves none for each of 10",
        ),
        ('"mlp"\nfeatures = ["hidden1"]', '"reduced_resnet18"', "25 x 25"),
        ("train_limit = 4", "train_limit = 4\nvalidation = 500", "hold out fewer"),
        ("there = [1, 2]", "there = [1, 2, 3]", "order"),
    ],
)
def test_what_does_not_fit_the_data_is_refused_at_once(fresh, old, new, reason):
    assert old in TINY
    with pytest.raises(InputError, match=reason):
        fresh.run(TINY.replace(old, new))
    assert not fresh.root.exists()
