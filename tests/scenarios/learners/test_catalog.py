"""The catalog: the settings of learners in a study survive the round trip."""

import pytest
from pydantic import BaseModel, ValidationError

from scenarios.learners.catalog import AnySettings, settings_of


def test_exemplars_of_icarl_are_by_default_the_papers():
    for given, numbers in (
        ({}, (None, 2000)),
        ({"exemplars": {"per_class": 10}}, (10, None)),
    ):
        budget = settings_of({"kind": "icarl", **given}).budget
        assert (budget.per_class, budget.total) == numbers
        assert (budget.sampling, budget.replay) == ("mean_of_features", "joined")


class Holder(BaseModel):
    """A model with the settings of any learner in it."""

    learners: dict[str, AnySettings]


def test_a_mistake_in_a_table_has_its_path_and_fields_are_written_in_full():
    with pytest.raises(ValidationError) as caught:
        Holder.model_validate(
            {"learners": {"mine": {"kind": "er", "memory_per_class": 0}}}
        )
    assert [each["loc"] for each in caught.value.errors()] == [
        ("learners", "mine", "memory_per_class")
    ]
    given = {"kind": "er", "memory_per_class": 7}
    written = Holder.model_validate({"learners": {"mine": given}}).model_dump(
        mode="json"
    )
    assert given.items() <= written["learners"]["mine"].items()
    assert Holder.model_validate(written) == Holder.model_validate(
        {"learners": {"mine": given}}
    )
