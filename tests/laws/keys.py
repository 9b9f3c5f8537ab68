"""The addresses of results, what each depends on by its definition, and altered settings.

A result is stored under the fingerprint of its job and the digest of its settings: its
address, to which the code that makes it is added here.
"""

from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from probe.by_layer.jobs import jobs_of, keys_of
from probe.by_layer.measurement import Key
from probe.by_layer.plan import CONTROLS, OFFLINE, UNTRAINED
from probe.errors import InputError
from probe.metrics.murata import RETRAIN
from probe.results.run_directory import store_of
from probe.stored_names import DIAGNOSTICS, PutBack, ReadoutName
from probe.tasks import data_hash
from probe.training.recipe import RecipeChanges
from scenarios.data.datasets import Location
from scenarios.learners.catalog import LEARNERS
from scenarios.study.study_file import check_study
from scenarios.study.training import first_task_store
from tests.scenarios.study.toy import CPU, made_plan

FIRST_TASK = ReadoutName(base="first task")


@dataclass(frozen=True)
class Result:
    """A measurement by what it is, not by its key; or the training on a run's first task."""

    learner: str
    tasks: tuple[int, ...]
    seed: int
    without: int
    tasks_seen: int
    feature: str
    readout: ReadoutName

    @property
    def run(self):
        return self.learner, self.tasks, self.seed, self.without

    @property
    def is_first_task(self):
        return self.readout == FIRST_TASK


def result_of(job, key):
    """Return the result of a job under a key."""
    run = job.learner, job.tasks, job.seed, job.without
    return Result(*run, key.tasks_seen, key.feature, key.readout)


def addresses(plan, learners=None):
    """Return the address of every result of a plan; of first trainings if learners are given."""
    address_of = {}
    for job in jobs_of(plan):
        store = store_of(plan, Path("run"), job)
        for key in keys_of(plan, job):
            address = store.folder.name, key.settings, store.code
            address_of[result_of(job, key)] = address
        if learners:
            learner = object.__new__(LEARNERS[job.kind])
            learner.settings = learners[job.learner]
            if first := first_task_store(plan, job, learner, store):
                address = first.folder.name, "", first.code
                address_of[result_of(job, Key(0, "", FIRST_TASK))] = address
    return address_of


def of_study(study, stream=None, device=CPU):
    """Return the addresses of a study's results, over made data by default."""
    return addresses(made_plan(study, stream, device), study.all_learners)


def assert_only(before, after, depends):
    """Check that exactly those results have moved that depend on what has changed."""
    common = before.keys() & after.keys()
    if depends is everything:
        assert not {*before.values()} & {*after.values()}
        return
    assert common
    moved = {result for result in common if before[result] != after[result]}
    assert moved == {result for result in common if depends(result)}


# What depends on what


def everything(_):
    return True


def nothing(_):
    return False


def beyond_first_task(result):
    return not result.is_first_task


def retrained(result):
    """A control's fingerprint does not hold the retraining: the digests of its tails do."""
    at_all = result.learner not in CONTROLS and not result.is_first_task
    return result.readout.is_retraining or at_all


def of_blocks(result):
    return result.readout.put_back != PutBack.NOTHING


def of_sets(result):
    return result.readout.put_back == PutBack.SETS


def with_permuted_labels(result):
    """Readouts of hidden features after all tasks are also fitted to permuted labels."""
    readout = result.readout
    last = 0 if result.learner == UNTRAINED else len(result.tasks)
    at_end = result.tasks_seen == last and not result.without
    special = readout.is_retraining or readout.put_back or readout.per_class
    hidden = result.feature not in ("", "output") and readout.base != DIAGNOSTICS
    return at_end and hidden and not special


def of_learners(names, own_network=()):
    """Results of learners, and similarities to the offline network if that is one of them."""

    def depends(result):
        compared = result.readout.base == DIAGNOSTICS and result.learner not in CONTROLS
        similar = OFFLINE in names and compared and result.learner not in own_network
        return result.learner in names or similar

    return depends


RULES = {
    "name": nothing,
    "report.*": nothing,
    "network.features": of_blocks,
    "storage": retrained,
    "orders*": nothing,
    "seeds": nothing,
    "probing.readouts.*": nothing,
    "probing.budget": nothing,
    "probing.batch_norm": nothing,
    "probing.checkpoints": nothing,
    "probing.diagnostics": nothing,
    "probing.inherited": nothing,
    "probing.hybrids": of_sets,
    "probing.blocks": of_sets,
    "probing.controls": with_permuted_labels,
}
"""What depends on a setting, by the pattern of its path, beside those of `of_change`."""


def of_change(study, changed, path):
    """Return what depends on the setting of a study at a path; KeyError without a rule."""
    own_network = {
        n for n, s in study.learners.items() if LEARNERS[s.kind].own_features
    }
    match path:
        case ("scenario", *_):
            ids = {study.scenario.kind, changed.scenario.kind}
            if data_hash(stream_of(study.scenario)) != data_hash(
                stream_of(changed.scenario)
            ):
                return everything
            has_ids = len(ids) > 1 and "task-incremental" in ids
            return beyond_first_task if has_ids else nothing
        case ("retraining" | "training", *_) | ("learners", _, "training", *_):
            before = recipes(study)
            after = recipes(changed)
            differing = {name for name in before if before[name] != after[name]}
            depends = of_learners(differing, own_network)
            tails = retrained if RETRAIN in differing else nothing
            return lambda result: depends(result) or tails(result)
        case ("learners", name, setting, *_):
            depends = of_learners({name}, own_network)
            if setting == "loss_classes":
                return depends
            return lambda result: depends(result) and not result.is_first_task
        case ("network", "name"):
            return of_learners(study.all_learners.keys() - own_network, own_network)
        case ("probing", "readouts", name, setting) if setting != "steps":
            return lambda result: result.readout.planned == name
    text = ".".join(path)
    return RULES[next((p for p in RULES if fnmatchcase(text, p)), text)]


def recipes(study):
    """Return the recipe of each learner, and that of the retraining, by its fields."""
    recipe_of = {RETRAIN: asdict(study.retraining or study.training)}
    for name, settings in study.all_learners.items():
        changes = asdict(settings.training or RecipeChanges())
        recipe = asdict(study.training)
        recipe |= {key: value for key, value in changes.items() if value is not None}
        # A number of epochs stands for itself, not for a part of the study's iterations.
        if changes["epochs"] and not changes["iterations"]:
            recipe["iterations"] = None
        recipe_of[name] = recipe
    return recipe_of


@cache
def stream_of(settings):
    """Return the scenario of these settings; raises InputError if the data do not fit."""
    return settings.scenario(Location())


# Altered settings

WORDS = (
    "last",
    "all",
    "other",
    "mlp",
    "si",
    "shuffle:1",
    "seen",
    "task",
    "fifo",
    "joined",
    "each",
    "euclidean",
    "interval",
    "tanh",
    "adamw",
    "cosine",
    "murata",
    "bf16",
    "reestimated",
    "classes",
    "poster",
    "task-incremental",
    "permute",
    "mean",
)
LISTS = (
    ["conv1"],
    ["hidden1"],
    ["multi", "all"],
    ["exclusion", "labels"],
    [[0, 1], [2, 3, 4, 5, 6, 7, 8, 9]],
    [0],
    {"first": "conv1.*"},
    {"mine": [1, 0, 0, 0, 0, 0, 0]},
    {"classes": 10, "inputs": [1, 8, 8]},
)
"""Values of settings by their types; those that a study refuses are passed over."""


def others(value):
    """Return other values of a setting, by its type."""
    match value:
        case bool():
            return [not value]
        case int() | float():
            return [value * 2, value + 1, value / 2, value + 0.25]
        case str():
            return WORDS
        case None:
            return [WORDS[0], True, 3, 0.5, *WORDS, *LISTS]
        case dict() if value:
            return [None]
        case list() if value:
            return [value[::-1], [*value, len(value) + 1], *LISTS]
    return LISTS


def settings_in(table, path=()):
    """Yield the path and the value of each setting, and of each table of settings."""
    for name, value in table.items():
        yield (*path, name), value
        if isinstance(value, dict):
            yield from settings_in(value, (*path, name))


def with_value(table, path, value):
    """Return a table of settings with another value at a path."""
    name, *rest = path
    return {**table, name: with_value(table[name], rest, value) if rest else value}


def alterations(raw, table=""):
    """Yield the path of each setting of a study, its value, and a study with another.

    Args:
        raw: The study as in a file.
        table: The only table whose settings are altered; all by default.
    """
    study = check_study(raw, "study")
    complete = study.model_dump(mode="json")
    # A checked table is not checked again, which takes half of the time.
    unprobed = {**complete, "probing": study.probing}
    for path, value in settings_in(complete):
        full = complete if path[0] == "probing" else unprobed
        for other in others(value) if path[0].startswith(table) else ():
            try:
                changed = check_study(with_value(full, path, other), "study")
            except InputError:
                continue
            if changed != study:
                yield path, value, changed
                break
        else:
            yield path, value, None
