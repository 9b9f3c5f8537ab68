"""An analysis with everything in it, made once in a session of tests; not to be changed."""

import pytest

from probe import Measure
from tests.probe.by_layer.nets import analyzed, finetuned, fresh, offline


@pytest.fixture(scope="session")
def whole():
    """All rows of retraining, in two seeds, with floor and ceiling."""
    measure = Measure(steps={"retrain": "all"}, seeds=2)
    controls = {"untrained": fresh(), "offline": offline()}
    return analyzed({1: finetuned(1), 3: finetuned(3)}, readouts=measure, **controls)
