"""The metrics by name: a decorator above a function in the module of its paper registers it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from importlib import import_module
from inspect import signature
from pkgutil import iter_modules
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

from numpy.typing import ArrayLike

from probe.metrics.counts import Counts
from probe.metrics.matrix import AccuracyMatrix

Function = TypeVar("Function", bound=Callable[..., Any])
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
        self, function: Callable[Concatenate[AccuracyMatrix, P], T], /
    ) -> Callable[Concatenate[AccuracyMatrix | ArrayLike, P], T]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Counts, P], T], /
    ) -> Callable[Concatenate[Counts | ArrayLike, P], T]: ...

    @overload
    def __call__(self, function: Function, /) -> Function: ...


@dataclass(frozen=True)
class Metric:
    """A metric's function, with the way to call it; see `metric`."""

    function: Callable[..., Any]
    after: str | None
    needs: Sequence[str]
    scorecard: bool
    public: str

    @property
    def paper(self) -> str:
        """The module of the function, such as `gem`."""
        return self.function.__module__.rpartition(".")[2]

    @property
    def name(self) -> str:
        """The name of the function, such as `bwt`."""
        return self.function.__name__


def metric(
    *, after: str | None = None, needs: Sequence[str] = (), scorecard: bool = True, public: str = ""
) -> _Decorator:
    """Register a function as a metric: of an accuracy matrix R, (T+1, T), and of inputs by name.

    Of a matrix, or of counts, it takes arrays and lists as well.

    Args:
        after: The name of its argument k, tasks learned, if it is defined after each task.
        needs: Those inputs of `probe.metrics.scorecard.scorecard` that it takes, by the same names.
        scorecard: False for a function of something else than R, which no table computes by itself.
        public: Its name in `probe.metrics` where another metric has the plain one.

    Returns:
        The decorator.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        signed = signature(function)
        first, *others = signed.parameters.values()
        kind = next((kind for kind in _CONVERSIONS if kind in str(first.annotation)), None)

        @wraps(function)
        def converted(*args: Any, **kwargs: Any) -> Any:
            if kind is None or not (args or first.name in kwargs):
                return function(*args, **kwargs)
            value, *rest = args or (kwargs.pop(first.name),)
            return function(_CONVERSIONS[kind](value), *rest, **kwargs)

        if kind:
            parameters = [first.replace(annotation=f"{kind} | ArrayLike"), *others]
            vars(converted)["__signature__"] = signed.replace(parameters=parameters)
        name = public or function.__name__
        setattr(converted, _MARK, Metric(converted, after, needs, scorecard, name))
        return converted

    return cast(_Decorator, decorate)


@cache
def registered() -> tuple[Metric, ...]:
    """Return the metrics of every module of this package, by paper, in the order of the source."""
    package = __name__.rpartition(".")[0]
    papers = {name for _, name, _ in iter_modules(import_module(package).__path__)}
    metrics = []
    for paper in (*_FIRST, *sorted(papers - {*_FIRST})):
        for value in vars(import_module(f"{package}.{paper}")).values():
            metric = getattr(value, _MARK, None)
            # A module may import another's function.
            if metric and metric.paper == paper:
                metrics.append(metric)
    return tuple(metrics)
