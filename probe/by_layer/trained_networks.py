"""Networks that were trained elsewhere, in checkpoints or in memory, by run and tasks seen."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import chain
from operator import index
from pathlib import Path
from typing import Any, TypeVar, cast

from torch import nn

from probe.batch import Named, tensor_hash
from probe.by_layer.plan import OFFLINE, UNTRAINED
from probe.errors import InputError, located
from probe.files import sha256
from probe.immutable import immutable
from probe.model import Model
from probe.modules import (
    architecture,
    architecture_difference,
    check_model,
    check_not_quantized,
    check_values,
    copied,
    device_of,
    unwrapped,
)
from probe.record.checkpoints import Checkpoints, Run
from probe.record.recording import Recording, RunRecord
from probe.record.state_files import Fit, fit_state, load_state, plain_state
from probe.rewinding.attributes import attribute_digest
from probe.seeding import stream
from probe.tables.note_text import listed
from probe.training.fresh_weights import Factory, built_network

LEARNER = "model"
"""The default name of a learner in tables."""

ORDER = "0"
"""The default name of an order in tables."""

Network = nn.Module | Path
"""A network in memory, or its file."""

Texts = dict[Network, str]
"""A text for each network, such as its hash."""

AnyNetwork = TypeVar("AnyNetwork", bound=nn.Module | Path)

Progress = Callable[[Sequence[Network]], Iterable[Network]]
"""Iterates over networks, as a progress bar does."""

Hashes = dict[Run, dict[int, str]]
"""A hash of the weights of each network, by run and number of tasks learned."""


@immutable
class TrainedNetworks:
    """Networks of the same architecture, all in files or all in memory, by run and tasks learned.

    Controls are runs with their own names and without an order.

    Attributes:
        runs: The networks of each run.
        build: Function that makes a network of the same architecture, None for networks
            in memory.
        progress: Function that wraps an iteration over the networks, as `tqdm` does.
        records: The records that a recorder has kept of their runs.
        read: Function that reads the tensors in a file, by name.
        repeated: Whether all seeds have the same networks, which are only retrained
            again.
    """

    runs: Mapping[Run, Mapping[int, Network]]
    build: Factory | None = None
    progress: Progress = iter
    records: Mapping[Run, RunRecord] = field(default_factory=dict)
    read: Callable[[Path], Named] = load_state
    repeated: bool = False

    def blank(self) -> nn.Module:
        """Return a new network with weights from a fixed seed, or a copy of one in memory."""
        network = _first(self.runs)
        if isinstance(network, nn.Module):
            return copied(network)
        return built_network(cast(Factory, self.build), stream(0, "build"))

    def of_learners(self, is_wanted: Callable[[str], bool]) -> "TrainedNetworks":
        """Return the networks of the learners whose names `is_wanted` accepts."""
        return replace(
            self, runs={r: n for r, n in self.runs.items() if is_wanted(r.learner)}
        )

    def weight_hashes(self) -> Hashes:
        """Hash the weights of every network.

        Returns:
            The hashes by run and number of tasks learned.

        Raises:
            InputError: A network contains NaN or quantized weights, its file does not
                fit the others, it is not the network that was recorded, or two seeds
                have the same.
        """
        names = self._names()
        model = unwrapped(self.blank())
        hash_of_network: Texts = {}
        for network in self.progress(list(names)):
            if isinstance(network, nn.Module):
                state = network.state_dict()
            else:
                state = self.read(network)
                fit_state(model, state, str(network))
            _check_values(state, names[network])
            hash_of_network[network] = tensor_hash(state)
        hash_of_network = _with_attributes(hash_of_network)
        hashes: Hashes = {}
        for run, networks in self.runs.items():
            hashes[run] = {
                tasks_seen: hash_of_network[network]
                for tasks_seen, network in networks.items()
            }
        self._check_against_recording(hashes)
        if not self.repeated:
            _check_seeds(hashes)
        return hashes

    def _names(self) -> Texts:
        """Return the name of each network for messages; those in files come sorted by path."""
        names: Texts = {}
        for run, networks in self.runs.items():
            for tasks_seen, network in networks.items():
                names[network] = display_name(run, tasks_seen)
        if self.build is None:
            return names
        return {path: str(path) for path in sorted(names, key=str)}

    def _check_against_recording(self, hashes: Hashes) -> None:
        """Raise InputError for a network that is not the one that was recorded."""
        for run in self.records.keys() & self.runs.keys():
            for tasks_seen, recorded in self.records[run].hashes.items():
                if hashes[run][tasks_seen] != recorded:
                    raise InputError(
                        f"{self.runs[run][tasks_seen]} is not the network that was "
                        "recorded: put that back, or record the run again"
                    )

    def load(self, run: Run, tasks_seen: int, expected: str) -> tuple[nn.Module, Fit]:
        """Return a copy of a network, and how its file fits the architecture.

        Args:
            run: The run of the network.
            tasks_seen: The number of tasks learned.
            expected: The hash of its weights.

        Raises:
            InputError: The file of the network has changed or does not fit.
        """
        network = self.runs[run][tasks_seen]
        if isinstance(network, nn.Module):
            return copied(network), Fit([], None)
        model = self.blank()
        state = self.read(network)
        if tensor_hash(state) != expected:
            raise InputError(
                f"{network} has changed since the run started: run it again"
            )
        return model, fit_state(unwrapped(model), state, str(network))


def _first(runs: Mapping[Run, Mapping[int, AnyNetwork]]) -> AnyNetwork:
    """Return the first network of runs."""
    networks = chain.from_iterable(run.values() for run in runs.values())
    return next(networks)


def _check_values(state: Mapping[str, Any], name: str) -> None:
    """Raise InputError for quantized weights, and for NaN."""
    check_not_quantized(state, name)
    for key, values in state.items():
        if values.isnan().any():
            raise InputError(
                f"{name} has NaN in {key!r}: it diverged; take an earlier one"
            )


def _with_attributes(hash_of_network: Texts) -> Texts:
    """Add plain attributes to the hashes of networks in memory, if they differ."""
    digests = {
        network: attribute_digest(unwrapped(network))
        for network in hash_of_network
        if isinstance(network, nn.Module)
    }
    if len(set(digests.values())) < 2:
        return hash_of_network
    return {
        network: sha256(f"{hash_of_network[network]} {digest}")
        for network, digest in digests.items()
    }


def _warn_of_shared(models: Iterable[nn.Module]) -> None:
    """Warn if two networks have a parameter in the same memory."""
    names_of_address: dict[int, dict[int, str]] = {}
    for model in models:
        for name, parameter in model.named_parameters():
            # Tensors of other classes may hold their numbers elsewhere, at address 0.
            if parameter.data_ptr():
                names = names_of_address.setdefault(parameter.data_ptr(), {})
                names[id(model)] = name
    shared = {
        next(iter(names.values()))
        for names in names_of_address.values()
        if len(names) > 1
    }
    if shared:
        warnings.warn(
            f"networks share {listed(sorted(shared))} in memory: "
            "if one was trained, the others changed with it; copy.deepcopy each",
            stacklevel=2,
        )


def _check_seeds(hashes: Hashes) -> None:
    """Raise InputError if two seeds of the same learner and order are the same network."""
    seed_of: dict[object, int] = {}
    for run, hash_of_step in hashes.items():
        last = max(hash_of_step)
        key = (run.learner, run.order, last, hash_of_step[last])
        if (
            last
            and run.learner != OFFLINE
            and seed_of.setdefault(key, run.seed) != run.seed
        ):
            raise InputError(
                f"seeds {seed_of[key]} and {run.seed} of {run.learner} are the same "
                f"network, bit for bit, after {last} tasks: one training counts once, "
                "so leave out the others"
            )


def trained_networks(
    model: Model,
    untrained: nn.Module | None,
    offline: nn.Module | str | Path | None,
    recording: Recording | None,
    tasks: int,
    seeds: int,
) -> TrainedNetworks:
    """Check the networks that the user provides and return them by run.

    Args:
        model: The networks by number of tasks learned, or their files.
        untrained: The network before any task.
        offline: The network trained on all tasks at once, or its file.
        recording: The content of a recorder's folder, if the networks are from one.
        tasks: Number of tasks T.
        seeds: The number of retrainings of networks in memory.

    Raises:
        InputError: Files and models in memory are mixed, or they do not fit the tasks.
    """
    networks = model.network
    values = networks.values() if isinstance(networks, Mapping) else ()
    if not isinstance(networks, str | Path) and not any(
        isinstance(v, str | Path) for v in values
    ):
        return _in_memory(networks, untrained, offline, tasks, seeds)
    if seeds != 1:
        raise InputError(
            f"files have their own seeds, got seeds={seeds}: give more files"
        )
    if model.build is None and model.load is None:
        raise InputError(
            "files need a function that builds the network: Model(files, fresh=build)"
        )
    if untrained is not None or not isinstance(offline, str | Path | None):
        raise _MIXED
    if offline is not None and recording:
        raise InputError(
            "offline= must be 'train' with a recording: use rec.offline(model)"
        )
    files = (
        recording.checkpoints if recording else _checkpoints(networks, offline, tasks)
    )
    path = _first(files.runs)
    build = model.build or partial(cast(Callable[[Path], nn.Module], model.load), path)
    built_network(build, stream(0, "check"), "fresh" if model.build else "load")
    return in_checkpoints(files, build, recording.records if recording else {}, model)


def in_checkpoints(
    checkpoints: Checkpoints,
    build: Factory,
    records: Mapping[Run, RunRecord],
    model: Model,
    progress: Progress = iter,
) -> TrainedNetworks:
    """Return the networks in checkpoints, see `TrainedNetworks`.

    Args:
        checkpoints: The files.
        build: Function that makes a network of the same architecture.
        records: The records that a recorder has kept of the runs.
        model: How to read a file.
        progress: Function that wraps an iteration over the networks, as `tqdm` does.

    Returns:
        The networks.
    """
    _, *others = model.build_by_learner or [""]
    # The controls have the architecture of the first learner.
    ordered = sorted(checkpoints.runs.items(), key=lambda run: run[0].learner in others)
    runs = _with_controls(dict(ordered), checkpoints.offline)
    return TrainedNetworks(
        runs=runs,
        build=build,
        progress=progress,
        records=records,
        read=partial(_read, model),
    )


def _read(model: Model, path: Path) -> Named:
    """Return the tensors in a file, by the user's function if there is one."""
    if model.load is None:
        return load_state(path, model.weights)
    loaded = built_network(
        partial(model.load, path), stream(0, "build"), f"load of {path}"
    )
    return plain_state(unwrapped(loaded))


def display_name(run: Run, tasks_seen: int) -> str:
    """Return the name of a network in messages.

    Args:
        run: The run that the network belongs to.
        tasks_seen: The number of tasks that it has learned.

    Returns:
        The name.

    >>> display_name(Run("model", "0", 0), 1), display_name(Run("offline", "", 0), 3)
    ('the model after 1 task', 'the joint model')
    """
    if not tasks_seen:
        return "the untrained model"
    if run.learner == OFFLINE:
        return "the joint model"
    return f"the model after {tasks_seen} task{'' if tasks_seen == 1 else 's'}"


_MIXED = InputError(
    "got both files and models: save all with torch.save, untrained as task 0"
)


def _checkpoints(
    files: Mapping[Any, Any] | str | Path, offline: str | Path | None, tasks: int
) -> Checkpoints:
    """Return the files of all networks, from a pattern or by number of tasks learned."""
    if isinstance(files, str | Path):
        return Checkpoints.find(files, offline, LEARNER)
    for tasks_seen, path in files.items():
        if not isinstance(path, str | Path):
            raise _MIXED
        if not isinstance(tasks_seen, int) or tasks_seen < 0:
            raise InputError(
                f"files must be a dict {{{tasks}: 'task.pt'}}, got key {tasks_seen!r}"
            )
    return Checkpoints(
        runs={Run(LEARNER, ORDER, 0): {t: Path(path) for t, path in files.items()}},
        offline={} if offline is None else {0: Path(offline)},
    )


def _in_memory(
    models: Any, untrained: Any, offline: Any, tasks: int, seeds: int
) -> TrainedNetworks:
    """Return networks in memory, by seed or the same for each seed.

    Raises InputError for networks on other devices or of another architecture than the
    last, and for seeds with different rows.
    """
    models_of_seed, offline_of_seed = _by_seed(models, offline, seeds)
    are_seeds = all(isinstance(seed, int) and seed >= 0 for seed in models_of_seed)
    if not are_seeds or models_of_seed.keys() != offline_of_seed.keys():
        raise InputError(
            f"got networks of seeds {listed(models_of_seed)}, offline of "
            f"{listed(offline_of_seed)}: give {{seed: {{{tasks}: model}}}} with seeds "
            "from 0"
        )
    runs: dict[Run, Mapping[int, Any]] = {
        Run(LEARNER, ORDER, seed): _rows(models_of_run, untrained, tasks)
        for seed, models_of_run in models_of_seed.items()
    }
    rows = set[int]().union(*runs.values())
    for run, networks in runs.items():
        if missing := sorted(rows - networks.keys()):
            raise InputError(
                f"seed {run.seed} has no network after {listed(missing)} tasks, as "
                "others have: add it, or leave it out for all"
            )
    last = next(iter(runs.values()))[tasks]
    runs = _with_controls(runs, {} if offline is None else offline_of_seed)
    named: list[tuple[str, Any]] = []
    for run, networks in runs.items():
        for tasks_seen, model in networks.items():
            name = display_name(run, tasks_seen)
            with located(name):
                check_model(model)
                check_values(cast(nn.Module, model))
            named.append((name, model))
    _warn_of_shared(model for _, model in named)
    _check_alike(named, last)
    return TrainedNetworks(runs=runs, repeated=seeds > 1)


def _by_seed(
    models: Any, offline: Any, seeds: int
) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return the networks and the offline networks by seed, the same for each retraining.

    models: {tasks learned: model}, or {seed: {tasks learned: model}}; offline: a
    network, or {seed: network}; seeds: the number of retrainings.
    """
    values = list(models.values()) if isinstance(models, Mapping) else []
    is_by_seed = bool(values) and all(isinstance(value, Mapping) for value in values)
    if is_by_seed and seeds == 1:
        if not isinstance(offline, Mapping):
            offline = dict.fromkeys(models, offline)
        return dict(models), dict(offline)
    if is_by_seed and len(values) == 1:
        # One training: its retrainings have seeds of their own.
        [models] = values
        if isinstance(offline, Mapping):
            offline = next(iter(offline.values()))
    return dict.fromkeys(range(seeds), models), dict.fromkeys(range(seeds), offline)


def _check_alike(named: Iterable[tuple[str, nn.Module]], last: nn.Module) -> None:
    """Raise InputError for a network on another device or of another architecture."""
    device = device_of(last)
    expected = architecture(last)
    for name, model in named:
        if device_of(model) != device:
            raise InputError(
                f"{name} is on {device_of(model)}, the last network on {device}: move "
                "it there"
            )
        check_values(model)
        if where := architecture_difference(expected, architecture(model)):
            raise InputError(
                f"{name} and the last network differ in architecture at {where!r}: "
                "give networks of the same architecture"
            )


def _rows(models: object, untrained: Any, tasks: int) -> dict[int, nn.Module]:
    """Return the networks of a seed by tasks learned, the rows of R.

    Raises InputError for anything but a mapping to models, for a row outside 0 to T,
    for a missing last row, and for two untrained networks.
    """
    if not isinstance(models, Mapping):
        raise InputError(
            f"`models` must be a dict {{{tasks}: model}}, got {type(models).__name__}"
        )
    for key in models:
        if not hasattr(key, "__index__") or not 0 <= key <= tasks:
            raise InputError(
                f"`models` has a row {key!r}, expected tasks learned, 0 to {tasks}"
            )
    rows: dict[int, nn.Module] = {index(key): model for key, model in models.items()}
    if tasks not in rows:
        raise InputError(
            f"`models` has no row {tasks}, the model after all tasks: add it"
        )
    if untrained is not None:
        if 0 in rows:
            raise InputError(
                "got `untrained` and row 0 of `models`, which are the same: give only "
                "one"
            )
        rows[0] = untrained
    return dict(sorted(rows.items()))


def _with_controls(
    runs: Mapping[Run, Mapping[int, Network]], offline: Mapping[int, Network]
) -> dict[Run, Mapping[int, Network]]:
    """Add the controls of each seed to runs; the floor is the first network before any task."""
    every = dict(runs)
    for run, networks in runs.items():
        if 0 in networks:
            every.setdefault(Run(UNTRAINED, "", run.seed), {0: networks[0]})
    last = max(max(networks) for networks in runs.values() if networks)
    return every | {
        Run(OFFLINE, "", seed): {last: network} for seed, network in offline.items()
    }
