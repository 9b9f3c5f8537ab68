"""The addresses of results, what each depends on by its definition, and settings to alter.

A result is stored under the fingerprint of its job and the digest of its settings: its
address. `RULES` names the results that depend on a setting of a study.
"""

from dataclasses import asdict, dataclass, fields, is_dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from types import NoneType
from typing import Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from probe.by_layer.jobs import jobs_of, keys_of
from probe.by_layer.plan import CONTROLS, OFFLINE, UNTRAINED
from probe.by_layer.planned_probing import PlannedReadout
from probe.errors import InputError
from probe.metrics.murata import RETRAIN
from probe.readouts.readout import entry_of
from probe.results.run_directory import store_of
from probe.stored_names import DIAGNOSTICS, OUTPUT, PutBack, ReadoutName
from probe.training.recipe import RecipeChanges
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
    without: int = 0
    tasks_seen: int = 0
    feature: str = ""
    readout: ReadoutName = OUTPUT

    @property
    def is_first_task(self):
        return self.readout == FIRST_TASK


def addresses(plan, learners=None, root=Path("run")):
    """Return the address of every result: fingerprint, digest of settings, and code."""
    address_of = {}
    for job in jobs_of(plan):
        store = store_of(plan, root, job)
        run = (job.learner, job.tasks, job.seed, job.without)
        for key in keys_of(plan, job):
            result = Result(*run, key.tasks_seen, key.feature, key.readout)
            address_of[result] = store.folder.name, key.settings, store.code
        if learners:
            learner = object.__new__(LEARNERS[job.kind])
            learner.settings = learners[job.learner]
            if first := first_task_store(plan, job, learner, store):
                address = first.folder.name, "", first.code
                address_of[Result(*run, readout=FIRST_TASK)] = address
    return address_of


def of_study(study, stream=None, device=CPU):
    """Return the addresses of a study's results, over made data by default."""
    return addresses(made_plan(study, stream, device), study.all_learners)


def assert_only(before, after, depends):
    """Check that exactly those results have moved that depend on what has changed."""
    if depends is everything:
        assert not {*before.values()} & {*after.values()}
        return
    common = before.keys() & after.keys()
    assert common
    moved = {result for result in common if before[result] != after[result]}
    assert moved == {result for result in common if depends(result)}


# What depends on what


def everything(_):
    return True


def nothing(_):
    return False


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


def of_learners(names, without_ceiling=()):
    """Results of learners, and similarities to the offline network if that is one of them."""

    def depends(result):
        compared = result.readout.base == DIAGNOSTICS and result.learner not in CONTROLS
        has_ceiling = result.learner not in without_ceiling
        similar = OFFLINE in names and compared and has_ceiling
        return result.learner in names or similar

    return depends


RULES = {
    "name": nothing,
    "report.*": nothing,
    "network.features": of_blocks,
    "storage": retrained,
    "orders": nothing,
    "seeds": nothing,
    "probing.readouts.*.steps": nothing,
    "probing.budget": nothing,
    "probing.batch_norm": nothing,
    "probing.checkpoints": nothing,
    "probing.diagnostics": nothing,
    "probing.inherited": nothing,
    "probing.hybrids": of_sets,
    "probing.blocks": of_sets,
    "probing.controls": with_permuted_labels,
}
"""What depends on a setting, by the pattern of its path; learners and recipes are below."""

OF_FIRST_TASK = ("training", "loss_classes")
"""The settings of a learner that act on its first task."""


def of_change(study, changed, path):
    """Return what depends on the setting of a study at a path; KeyError without a rule."""
    own_network = {n for n, s in study.learners.items() if LEARNERS[s.kind].own_features}
    names = {*study.all_learners}
    if "training" in path or path[0] == "retraining":
        before = recipes(study)
        after = recipes(changed)
        differing = {name for name in before if before[name] != after[name]}
        depends = of_learners(differing, own_network)
        tails = retrained if RETRAIN in differing else nothing
        return lambda result: depends(result) or tails(result)
    if path[0] == "learners":
        depends = of_learners({path[1]}, own_network)
        at_first = path[2] in OF_FIRST_TASK
        return lambda result: depends(result) and (at_first or not result.is_first_task)
    if path == ("network", "name"):
        return of_learners(names - own_network, own_network)
    if path[:2] == ("probing", "readouts") and path[-1] != "steps":
        return lambda result: result.readout.planned == path[2]
    text = ".".join(path)
    pattern = next((p for p in RULES if fnmatchcase(text, p)), text)
    return RULES[pattern]


def recipes(study):
    """Return the recipe of each learner, and that of the retraining, by its fields."""
    common = asdict(study.training)
    recipe_of = {RETRAIN: asdict(study.retraining or study.training)}
    for name, settings in study.all_learners.items():
        changes = asdict(settings.training or RecipeChanges())
        recipe = common | {key: value for key, value in changes.items() if value}
        # A number of epochs stands for itself, not for a part of the study's iterations.
        if changes["epochs"] and not changes["iterations"]:
            recipe["iterations"] = None
        recipe_of[name] = recipe
    return recipe_of


# Settings and their alterations


def fields_of(thing):
    """Return the annotations of the fields of a table of settings; none for a value."""
    if isinstance(thing, BaseModel):
        return {name: f.annotation for name, f in type(thing).model_fields.items()}
    if is_dataclass(thing):
        hints = get_type_hints(type(thing))
        return {field.name: hints[field.name] for field in fields(thing)}
    is_table = isinstance(thing, dict) and any(map(fields_of, thing.values()))
    return dict.fromkeys(thing, object) if is_table else {}


def settings_in(thing, path=()):
    """Yield each setting: its path, the class that defines it, its annotation and value."""
    for name, annotation in fields_of(thing).items():
        value = thing[name] if isinstance(thing, dict) else getattr(thing, name)
        owners = [c for c in type(thing).__mro__ if name in get_own(c)]
        owner = (owners or [type(thing)])[0].__name__
        here = (*path, name)
        if isinstance(value, PlannedReadout):
            yield (*here, "steps"), "PlannedReadout", str, value.steps
            yield from settings_in(entry_of(name).readout(**value.settings), here)
        elif fields_of(value):
            yield from settings_in(value, here)
            if NoneType in get_args(annotation):
                yield here, owner, NoneType, value
        else:
            yield here, owner, annotation, value


def get_own(cls):
    return vars(cls).get("__annotations__", ())


def choices(annotation):
    """Return the values that an annotation lists."""
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [choice for part in get_args(annotation) for choice in choices(part)]


BY_NAME = {
    "name": ["other", "mlp"],
    "kind": ["si"],
    "data": [["others"], ["points", "others"]],
    "expects": [{"classes": 8, "inputs": [1, 4, 4]}],
    "features": [["conv1"]],
    "freeze": [["hidden1"]],
    "orders": [{"a": [1, 2]}, {"b": [2, 1], "c": [1, 2]}],
    "steps": ["all", "last", [0], [1]],
    "heads": [["multi", "all"]],
    "weights": [{"mine": [1, 0, 0, 0, 0, 0, 0]}],
    "controls": [["exclusion", "labels"]],
    "blocks": [{"first": "conv1.*"}, {"first": ["conv1.*", "conv2.*"]}],
    "base": [3],
}
"""Other values of settings whose types do not tell them."""


MOST = 2  # values of a setting


def others(name, annotation, value):
    """Return other values of a setting, some of which the study may refuse."""
    if annotation is NoneType:
        return [None]
    if listed := BY_NAME.get(name, []) + choices(annotation):
        return listed
    match value:
        case bool():
            return [not value]
        case int() | float():
            return [value + 1, value * 2, value / 2, value + 0.25]
        case tuple():
            return [value[::-1], value[1:], (*value, len(value) + 1)]
        case None:
            return [True, 1, 2, 3, 0.5, {}]
    return []


def with_value(table, path, value):
    """Return a table of settings with another value at a path."""
    name, *rest = path
    return {**table, name: with_value(table[name], rest, value) if rest else value}


def alterations(raw, table=""):
    """Yield each setting of a study with its path, its owner and name, and altered studies.

    Args:
        raw: The study as in a file.
        table: The only table whose settings are altered; all by default.
    """
    study = check_study(raw, "study")
    complete = study.model_dump(mode="json")
    # A checked table is not checked again, which takes half of the time.
    unprobed = {**complete, "probing": study.probing}
    for path, owner, annotation, value in settings_in(study):
        if not path[0].startswith(table) or (value is None and annotation is NoneType):
            continue
        if choices(annotation) == [value]:
            continue
        full = complete if path[0] == "probing" else unprobed
        altered = []
        for other in others(path[-1], annotation, value):
            try:
                changed = check_study(with_value(full, path, other), "study")
            except InputError:
                continue
            if changed != study:
                altered.append(changed)
            if len(altered) == MOST:
                break
        yield path, f"{owner}.{path[-1]}", altered
