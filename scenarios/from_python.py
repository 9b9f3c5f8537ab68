"""Measuring networks that Python code names, as `probe model` does what was typed.

`probe.analyze` asks for it by the entry point `measure`, as its own package knows no studies.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import ExitStack

import torch
from rich.console import Console
from torch import nn

from probe.batch import first, tensors
from probe.by_layer.files import GivenRun
from probe.by_layer.probing import settings_record
from probe.cut.model_call import explained
from probe.errors import InputError
from probe.examples import check_labeled
from probe.readouts.readout import READOUTS
from probe.registered import OwnData, OwnNetwork, OwnReadout, marks_of
from probe.retrain import SAMPLE
from scenarios.checkpoints import Asked, study_of
from scenarios.commands.run import carry_through
from scenarios.options import RunOptions
from scenarios.own_code import NO_CODE, registered
from scenarios.own_source import source_hash, source_of_own
from scenarios.study.fingerprint import tensor_hash
from scenarios.study.own import OURS
from scenarios.user_model import build_model

_DATA = "data"  # what tables call data that have no name


def measure(run: GivenRun) -> None:
    """Measure networks in files into a run directory, from wherever an earlier call stopped.

    Raises InputError for whatever does not fit, and where a job failed.
    """
    asked, root = run.asked, run.out
    for name, examples in (("train", asked.train), ("test", asked.test)):
        check_labeled(examples, name)
    network = _network(run)
    data = OwnData(name=_DATA, load=lambda: (asked.train, asked.test))
    with ExitStack() as registering:
        registering.enter_context(registered([network, data], _source(run, network), OURS))
        for own in _own_readouts(run):
            registering.enter_context(registered([own], source_of_own(own, None), OURS))
        what = Asked(
            network=network.name,
            data=_DATA,
            tasks=asked.tasks or (),
            readouts={name: settings_record(readout) for name, readout in asked.readouts.items()},
            orders=asked.orders,
            features=asked.features,
            recipe=asked.recipe,
            train_offline=asked.train_offline,
        )
        name = re.sub(r"[^A-Za-z0-9._-]", "-", root.name).lstrip("._-") or "analysis"
        study = study_of(name, run.checkpoints, what)
        console = Console(stderr=True)
        console.quiet = not (console.is_terminal or console.is_jupyter)
        options = RunOptions(out=root, executor="inline", device=_device(run))
        ends, _ = carry_through(console, study, NO_CODE, options, run.draw) or ([], [])
    if bad := [end for end in ends if end.how != "finished"]:
        raise InputError(f"{bad[0].job.name}: {bad[0].reason}")


def _network(run: GivenRun) -> OwnNetwork:
    """Return the network under the name that it is marked with, or that of its class."""
    marked = [own for own in marks_of(run.build) if isinstance(own, OwnNetwork)]
    model, given = build_model("build", run.build), run.asked.model_call
    return OwnNetwork(
        name=marked[0].name if marked else type(model).__name__,
        build=run.build,
        features=marked[0].features if marked else None,
        output=marked[0].output if marked and given.output is None else given.output,
        call=given.call or (marked[0].call if marked else None),
        draws=run.draws,
    )


def _own_readouts(run: GivenRun) -> Iterator[OwnReadout]:
    """Yield the user-defined readouts."""
    for own in (own for each in run.asked.readouts.values() for own in marks_of(type(each))):
        if isinstance(own, OwnReadout) and READOUTS.get(own.name) != own:
            yield own


def _source(run: GivenRun, network: OwnNetwork) -> str:
    """Return a hash of what makes and calls the network: its source, and what it gives.

    A closure or a partial function does not tell in its source what it holds.
    """
    model = build_model("build", run.build)
    kinds = {type(each) for each in model.modules()}
    own = {source_hash(kind) for kind in kinds if not kind.__module__.startswith("torch.")}
    parts = [source_hash(run.build), sorted(own), source_hash(network.call)]
    told = repr((parts, str(model), network.output, network.draws, _ranks(run, model)))
    return hashlib.sha256(told.encode()).hexdigest()


def _ranks(run: GivenRun, model: nn.Module) -> str:
    """Return a hash of how the network ranks its outputs on a few examples.

    Logits themselves are rounded otherwise on other machines.
    """
    if run.asked.test is None:
        return ""
    x = first(run.asked.test.x, SAMPLE)
    with torch.no_grad(), explained(x):
        logits = run.asked.model_call(model.to(tensors(x)[0].device).eval(), x)
    return tensor_hash({"ranks": logits.argsort(dim=1, stable=True)})


def _device(run: GivenRun) -> str:
    """Return where it is computed: where the data are."""
    return str(run.asked.train.y.device) if run.asked.train is not None else "cpu"
