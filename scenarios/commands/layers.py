"""`probe layers`: the modules at which a user's model can be cut, and a suggested set of them.

`probe.cut.candidates` tries each module on a batch of three random inputs and suggests
a set; this module loads the model and prints the table.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import torch
from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from torch import Tensor, nn

from probe.batch import Value, tensors
from probe.cut.candidates import Candidate, candidates
from probe.errors import InputError, ModelRaised, described, lacks_memory, printable
from probe.memory import show_size
from probe.progress import tracked
from probe.seeding import stream
from scenarios.commands.screen.terminal import print_json, show_line
from scenarios.networks import ARCHITECTURES, build_network
from scenarios.options import LayersOptions, position
from scenarios.user_code import build_model, importing, load_callable

_EXAMPLES = 3
_INPUT = r"(?:([^\W\d]\w*)=)?([1-9]\d{0,9}(?:x[1-9]\d{0,9})*)(:int)?"


def show_layers(target: str, options: LayersOptions) -> None:
    """Print the modules of a model that can be features, and a suggested set of them.

    Args:
        target: The model, MODULE:FACTORY or the name of a network of this package.
        options: The flags of `probe layers`.

    Raises:
        InputError: A flag is invalid, or the model fails on the random inputs.
    """
    with importing(target):
        try:
            sample = sample_inputs(options.input, options.integers)
            model = _model(target, sample)
            cutting = partial(tracked, label="cutting")
            modules = candidates(
                model, sample, position(options.output), progress=cutting
            )
        # The user's model may raise anything.
        except BaseException as error:
            # The model's own error is the cause of a `ModelRaised`.
            raised = error
            if isinstance(error, ModelRaised):
                raised = error.__cause__ or error
            is_known = isinstance(raised, InputError | KeyboardInterrupt)
            if is_known or lacks_memory(raised):
                raise
            raise InputError(
                f"the model raised {described(raised)} on "
                f"{', '.join(options.input)}: check --input, and --integers for tokens"
            ) from error
    if options.json:
        print_json(_record(modules))
    else:
        _print(modules)


def _record(modules: Sequence[Candidate]) -> dict[str, Any]:
    """Return the table as JSON values; docs/tables.md lists the keys."""
    renamed = {"kind": "type", "shape": "output", "bytes": "cached_bytes"}
    features = []
    for module in modules:
        entry = {
            renamed.get(name, name): value for name, value in asdict(module).items()
        }
        # Either the size of the cache is known, or why there is none.
        entry["cached_bytes" if module.slow else "slow"] = None
        features.append(entry)
    suggested = [module.feature for module in modules if module.suggested]
    return {"features": features, "suggested": suggested}


def _model(target: str, sample: Value) -> nn.Module:
    """Return the model of that name, a network of this package or a user-defined one."""
    # A dotted name without a factory is refused by `load_callable`.
    if ":" in target or "." in target:
        factory = load_callable(target, "a callable that returns a model")
        if isinstance(factory, nn.Module):
            return factory
        return build_model(target, factory)
    if target in ARCHITECTURES and not isinstance(sample, Tensor):
        raise InputError(
            f"{target} takes one input without a name: give one --input, as 3x32x32"
        )
    return build_network(target, tensors(sample)[0].shape[1:], classes=10)


def _print(modules: Sequence[Candidate]) -> None:
    """Print a table of the features, the reasons against caching some, and the suggested set.

    The modules are in the order in which the model computes them. Lines to a file or a
    pipe are not truncated.
    """
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)
    table = Table(box=SIMPLE, padding=(0, 1))
    columns = ("", "feature", "type", "output", "cached per example", "frozen", "left")
    for k, column in enumerate(columns):
        table.add_column(column, overflow="fold", justify="left" if k < 3 else "right")
    for m in modules:
        shape = "x".join(map(str, m.shape)) or "one number"
        shape = f"{shape}, 1 of {m.tensors}" if m.tensors > 1 else shape
        size = "the slow way" if m.slow else show_size(m.bytes)
        table.add_row(
            "*" * m.suggested,
            escape(printable(m.feature)),
            escape(printable(m.kind)),
            shape,
            size,
            f"{m.frozen:,}",
            f"{m.left:,}",
        )
    console.print(table)
    # Each reason once, with all of its features.
    for reason in dict.fromkeys(m.slow for m in modules if m.slow):
        names = ", ".join(m.feature for m in modules if m.slow == reason)
        show_line(f"the slow way, as {reason}: {names}")
    chosen = ", ".join(f'"{m.feature}"' for m in modules if m.suggested)
    show_line(f"* features = [{chosen}]" if chosen else "no features to suggest")


def sample_inputs(texts: Sequence[str], integers: bool) -> Value:
    """Return a batch of three random examples: a tensor, a tuple of tensors, or a mapping by name.

    Args:
        texts: The shapes of the inputs, [NAME=]SHAPE[:int], such as 3x32x32 or
            mask=16:int.
        integers: Whether all inputs are integers.

    Returns:
        Normal values, or zeros and ones for integers, which any embedding accepts; the
        same at every call.

    Raises:
        InputError: A shape is malformed, or some inputs lack a name or share one.
    """
    generator = stream(0, "sample")
    drawn = [_draw(text, integers, generator) for text in texts]
    # From pairs to all names and all inputs.
    names, inputs = zip(*drawn, strict=True)
    if any(names) and len(set(filter(None, names))) < len(inputs):
        raise InputError(
            f"--input: name all inputs differently, or none, got {', '.join(texts)}"
        )
    if any(names):
        return dict(zip(names, inputs, strict=True))
    return inputs if len(inputs) > 1 else inputs[0]


def _draw(text: str, integers: bool, generator: torch.Generator) -> tuple[str, Tensor]:
    """Return the name of an --input ("" if it has none), and random inputs of its shape."""
    match = re.fullmatch(_INPUT, text)
    if match is None:
        raise InputError(
            f"--input expects a shape, 3x32x32, NAME=16 or NAME=16:int, got {text!r}"
        )
    name, shape, is_integer = match.groups()
    draw = partial(torch.randint, 2) if integers or is_integer else torch.randn
    sizes = (_EXAMPLES, *map(int, shape.split("x")))
    return name or "", draw(sizes, generator=generator)
