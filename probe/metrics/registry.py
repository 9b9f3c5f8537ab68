"""The metrics by name: a decorator above a function in the module of its paper registers it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from importlib import import_module
from inspect import signature
from pkgutil import iter_modules
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

from numpy.typing import ArrayLike

from probe.immutable import AnyFunction
from probe.metrics.counts import Counts
from probe.metrics.matrix import AccuracyMatrix

Function = TypeVar("Function", bound=AnyFunction)
First = TypeVar("First", AccuracyMatrix, Counts)
P = ParamSpec("P")
T = TypeVar("T")

_MARK = "__metric__"

# In the order of the tables; papers that came later follow by their names.
_FIRST = ("gem", "diaz_rodriguez", "chaudhry", "kemker")


# The conversion of a metric's first argument, by its annotation.
_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "AccuracyMatrix": AccuracyMatrix.of,
    "Counts": lambda value: value if isinstance(value, Counts) else Counts(value),
}


class _Decorator(Protocol):
    """Decorator that `metric` returns: a metric of a matrix or of counts takes arrays as well."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[First, P], T], /
    ) -> Callable[Concatenate[First | ArrayLike, P], T]: ...

    @overload
    def __call__(self, function: Function, /) -> Function: ...


@dataclass(frozen=True)
class Metric:
    """A metric's function, with the way to call it; see `metric`.

    Attributes:
        paper: The module of the function, such as `gem`.
        name: The name of the function, such as `bwt`.
    """

    function: AnyFunction
    after: str | None
    needs: Sequence[str]
    scorecard: bool
    public: str
    paper: str
    name: str


def metric(
    *,
    after: str | None = None,
    needs: Sequence[str] = (),
    scorecard: bool = True,
    public: str = "",
) -> _Decorator:
    """Mark a function as a metric, of an accuracy matrix R, (T+1, T), or of counts.

    `registered` finds it. It accepts arrays and lists in place of a matrix or counts.

    Args:
        after: The name of the argument k, tasks learned, if the metric is defined after
            each task.
        needs: The names of the inputs of `probe.metrics.scorecard.scorecard` that the
            metric takes.
        scorecard: Whether tables compute the metric, from R and the inputs that it needs.
        public: The name in `probe.metrics`, if another metric already has the
            function's name.

    Returns:
        The decorator.
    """

    def decorate(function: AnyFunction) -> AnyFunction:
        """Wrap a function so that its first argument may be an array, and mark it as a metric."""
        declared = signature(function)
        first, *others = declared.parameters.values()
        # The type that the first argument is converted to, by its annotation.
        kind = next(
            (kind for kind in _CONVERSIONS if kind in str(first.annotation)), ""
        )
        convert = _CONVERSIONS.get(kind, lambda value: value)

        @wraps(function)
        def converted(*args: Any, **kwargs: Any) -> Any:
            if args:
                return function(convert(args[0]), *args[1:], **kwargs)
            return function(
                **{n: convert(x) if n == first.name else x for n, x in kwargs.items()}
            )

        # Documentation and type checkers show that arrays are accepted.
        if kind:
            parameters = [first.replace(annotation=f"{kind} | ArrayLike"), *others]
            vars(converted)["__signature__"] = declared.replace(parameters=parameters)
        name = function.__name__
        paper = function.__module__.rpartition(".")[2]
        mark = Metric(converted, after, needs, scorecard, public or name, paper, name)
        setattr(converted, _MARK, mark)
        return converted

    return cast(_Decorator, decorate)


@cache
def registered() -> tuple[Metric, ...]:
    """Return the metrics of every module of this package, by paper, in the order of the source."""
    package = __name__.rpartition(".")[0]
    papers = {name for _, name, _ in iter_modules(import_module(package).__path__)}
    metrics = list[Metric]()
    for paper in (*_FIRST, *sorted(papers - {*_FIRST})):
        values = vars(import_module(f"{package}.{paper}")).values()
        marks = (getattr(value, _MARK, None) for value in values)
        # A module may import another's function.
        metrics += (mark for mark in marks if mark and mark.paper == paper)
    return tuple(metrics)
