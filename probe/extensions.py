"""User-defined networks, data, metrics and readouts, marked by decorators for studies to name.

A decorator only marks: nothing is registered until a study loads the file, as by `probe
run study.toml --load mynets.py`. `scenarios.learners.catalog` lists the learners.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, get_args

from typing_extensions import TypeVar, dataclass_transform

from probe.arguments import checked
from probe.errors import InputError, check_known
from probe.immutable import AnyFunction, immutable
from probe.validation import configuration, shown

if TYPE_CHECKING:
    from torch import nn

    from probe.cut.model_call import Call, Output
    from probe.metrics.matrix import AccuracyMatrix

Marked = TypeVar("Marked", bound=AnyFunction)
Class = TypeVar("Class")
Item = TypeVar("Item")

NamedSteps = Literal["ends", "spread", "all", "last", "affordable"]
"""`ends`: before any task and after all; `all`: after each as well; `last`: after all, no floor.

`spread`: as `all` for up to ten tasks; after only ten of them if there are more, see
    `spread_over`.
"""

_MARKS = "__forgetting_probe__"
_RESERVED = ("retrain", "diagnostics", "rewound")
_NAME = r"[A-Za-z0-9]([A-Za-z0-9_:-]|\.[0-9])*"


@immutable
class Entry:
    """Anything that can be registered under a name."""

    name: str


@immutable
class NetworkEntry(Entry):
    """A user's registered network: build() makes a new one with randomly drawn weights.

    Attributes:
        features: The features to retrain downstream of, None = a suggested set.
        output: Key or index of the logits, see `probe.cut.model_call.ModelCall`.
        call: Function that calls the network on a batch, see
            `probe.cut.model_call.ModelCall`.
        draws: Whether build() draws fresh weights, in place of a recipe's rule.
    """

    build: "Callable[..., nn.Module]"
    features: tuple[str, ...] | None = None
    output: "Output" = None
    call: "Call | None" = None
    draws: bool = True


@immutable
class DataEntry(Entry):
    """A user's registered data set: load() returns (train, test).

    Each of the two is an `Examples`, a pair (x, y), anything that `Examples.of` reads,
    or a list of these with the data of each task. With `class_order`, class k is the
    label at position k of that list, and other labels are left out; without it, labels
    are the classes.
    """

    load: Callable[[], object]
    class_order: tuple[int, ...] = ()


@immutable
class MetricEntry(Entry):
    """A user's metric by its name: score(R) returns a number for an accuracy matrix R (T+1, T)."""

    score: "Callable[[AccuracyMatrix], float]"


@immutable
class LearnerEntry(Entry):
    """A user's learner by its name: a subclass of `scenarios.learners.base.Learner`."""

    learner: type[Any] = field(repr=False)


@immutable
class ReadoutEntry(Entry):
    """A readout by its name: a class of settings with `predict`, see `probe.readouts.readout`.

    Attributes:
        readout: The class of settings.
        steps: The numbers of tasks learned after which it is measured unless a study
            says so.
        task_aware: Whether it is fitted separately for each task, to the task's
            training examples, and predicts only the task's classes.
    """

    readout: type[Any] = field(repr=False)
    steps: NamedSteps = "spread"
    task_aware: bool = False


Kind = TypeVar("Kind", bound=Entry, default=Entry)


@checked
def network(
    name: str,
    *,
    features: Sequence[str] | None = None,
    output: "Output" = None,
    call: "Call | None" = None,
) -> Callable[[Marked], Marked]:
    """Mark a function or class that makes a network, called without arguments.

    Args:
        name: The name of the network in studies.
        features: The layers to retrain downstream of, None = a suggested set.
        output: The key of the logits in the network's output, None = the output is the
            logits.
        call: `call(network, x)` gives the output on a batch; None = `network(x)`.

    Returns:
        The decorator.

    >>> @network("tiny", features=["0"])
    ... def build(): ...
    >>> marks_of(build)[0].features
    ('0',)
    """
    chosen = None if features is None else tuple(features)
    return lambda build: mark(
        build,
        NetworkEntry(name=name, build=build, features=chosen, output=output, call=call),
    )


def data(name: str) -> Callable[[Marked], Marked]:
    """Mark a function that returns (train, test), called without arguments; see `DataEntry`.

    >>> import torch
    >>> @data("noise")
    ... def load():
    ...     return [(torch.randn(n, 4), torch.arange(n) % 2) for n in (80, 20)]
    """
    return lambda load: mark(load, DataEntry(name=name, load=load))


def learner(name: str) -> Callable[[type[Class]], type[Class]]:
    """Mark a subclass of `scenarios.learners.base.Learner`, so that a study can name it.

    Args:
        name: The name in studies.

    Returns:
        A decorator for the class.

    Raises:
        InputError: The class is not a learner.

    >>> from scenarios.learners.continual import ContinualLearner
    >>> @learner("mine")
    ... class Mine(ContinualLearner): ...
    """

    def decorate(cls: type[Class]) -> type[Class]:
        _check_class(
            cls, f"@learner({name!r})", ("learn", "restore"), "a subclass of Learner"
        )
        return mark(cls, LearnerEntry(name=name, learner=cls))

    return decorate


def _check_class(
    cls: object, decorator: str, methods: Sequence[str], expected: str
) -> None:
    """Raise InputError unless a decorator marks a class with these methods."""
    if not (isinstance(cls, type) and all(hasattr(cls, method) for method in methods)):
        got = getattr(cls, "__name__", type(cls).__name__)
        raise InputError(f"{decorator} marks {got}: mark {expected}")


def metric(name: str) -> Callable[[Marked], Marked]:
    """Mark a function of an accuracy matrix that returns a number; see `MetricEntry`.

    >>> @metric("last")
    ... def last(R):
    ...     return R.cell(R.tasks, R.tasks)
    """
    return lambda score: mark(score, MetricEntry(name=name, score=score))


@dataclass_transform(frozen_default=True, kw_only_default=True)
@checked
def readout(
    name: str, *, steps: NamedSteps = "spread", task_aware: bool = False
) -> Callable[[type[Class]], type[Class]]:
    """Mark a class of readouts and make it a `configuration`: its fields are checked settings.

    The class has `predict(x, y, test, classes)`, see `probe.readouts.readout.Readout`.

    Args:
        name: The name of the readout in studies and for `analyze`.
        steps: The rule for the steps at which it is measured, unless a study has its
            own.
        task_aware: Whether it is fitted for each task to the task's own training
            examples, and predicts only the task's classes.

    Returns:
        The decorator.

    Raises:
        InputError: The class has no `predict`, it has a setting called `steps`, or the
            name is invalid or reserved.

    >>> @readout("constant")
    ... class Constant:
    ...     label: int = 0
    ...
    ...     def predict(self, x, y, test, classes):
    ...         return y.new_full((len(test),), self.label)
    >>> Constant(label=2)
    Constant(label=2)
    """
    check_known("rule for steps", steps, get_args(NamedSteps))
    # Names of results end with variants (`retrain@2`, `linear+bn`) and stand in names
    # of files.
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", str(name)) or name.startswith(
        _RESERVED
    ):
        raise InputError(
            "a readout's name must have only letters, digits, _ and -, and not begin "
            f"with {' or '.join(_RESERVED)}, got {name!r}"
        )

    def decorate(cls: type[Class]) -> type[Class]:
        _check_class(
            cls, f"@readout({name!r})", ("predict",), "a class that has predict"
        )
        if "steps" in vars(cls).get("__annotations__", {}):
            raise InputError(
                f"readout {name!r} has a setting steps, a reserved name: rename it"
            )
        checked = configuration(cls)
        entry = ReadoutEntry(
            name=name, readout=checked, steps=steps, task_aware=task_aware
        )
        return mark(checked, entry)

    return decorate


def spread_over(items: Sequence[Item], most: int = 10) -> tuple[Item, ...]:
    """Choose items, such as steps, at even distances, including the first and the last.

    Args:
        items: The items.
        most: The largest number of items to choose.

    Returns:
        The chosen items, all if there are no more than that.

    >>> spread_over(range(1, 51))
    (1, 6, 12, 17, 23, 28, 34, 39, 45, 50)
    >>> spread_over("abc", 5)
    ('a', 'b', 'c')
    """
    last = len(items) - 1
    if last < most:
        return tuple(items)
    return tuple(items[round(k * last / (most - 1))] for k in range(most))


def mark(what: Marked, entry: Entry) -> Marked:
    """Add a mark to a function or class.

    Args:
        what: The function or class.
        entry: The mark.

    Returns:
        The same function or class.

    Raises:
        InputError: `what` is neither, or the name cannot be written into a table.
    """
    name = entry.name
    if not callable(what):
        raise InputError(
            f"{name!r} must mark a function or class, got {type(what).__name__}"
        )
    if not isinstance(name, str) or not re.fullmatch(_NAME, name) or len(name) > 80:
        raise InputError(
            f"a name must be up to 80 letters, digits, _, : and -, got {name!r}"
        )
    try:
        setattr(what, _MARKS, (*marks_of(what), entry))
    except (AttributeError, TypeError):
        raise InputError(
            f"{name!r} must mark a function or class written in Python, got "
            f"{shown(what)}: wrap it in one"
        ) from None
    return what


def marks_of(what: object, kind: type[Kind] = Entry) -> tuple[Kind, ...]:  # type: ignore[assignment]
    """Return the marks of a function or class; marks are not inherited.

    Args:
        what: The function or class.
        kind: The kind of marks to return.

    Returns:
        The marks.
    """
    entries = vars(what).get(_MARKS, ()) if hasattr(what, "__dict__") else ()
    return tuple(entry for entry in entries if isinstance(entry, kind))


def marked_in(names: Mapping[str, object], kind: type[Kind] = Entry) -> Iterator[Kind]:  # type: ignore[assignment]
    """Yield every mark in a module's names once, including names that it imported.

    Args:
        names: The objects by name.
        kind: The kind of marks to return.

    Yields:
        The marks.
    """
    values = list(names.values())
    yield from {
        id(entry): entry for value in values for entry in marks_of(value, kind)
    }.values()
