"""User-defined parts of a study: the features of its network, and reserved names."""

from probe.batch import first
from probe.by_layer.features import features_of
from probe.errors import located
from probe.retrain import SAMPLE
from probe.tasks import Scenario
from scenarios.data.datasets import LOADERS
from scenarios.learners.catalog import MODULES
from scenarios.networks import ARCHITECTURES, bare, network_for
from scenarios.own_code import REGISTRY, Names
from scenarios.study.spec import Study


def with_own_features(study: Study, scenario: Scenario) -> Study:
    """Return the study with the features of its user-defined network by depth, the output last.

    A study with one of this package's networks is returned unchanged. Raises InputError as
    `probe.by_layer.features.features_of` does.
    """
    own = REGISTRY.networks.get(study.network.name)
    if own is None:
        return study
    x = first(scenario.tasks[0].test.x, SAMPLE)
    with located(f"network {own.name}"):
        model, call = bare(network_for(own.name, x, scenario.classes))
        chosen = study.network.features or own.features
        features = features_of(model, call, x, scenario.classes, chosen)
    network = study.network.model_copy(update={"features": features})
    return study.model_copy(update={"network": network})


OURS: Names = {"network": ARCHITECTURES, "data set": LOADERS, "learner": MODULES}
"""This package's own names, which no user-defined part may have."""
