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


# What a metric is made to take by its annotation.
_MADE: dict[str, Callable[[Any], Any]] = {
    "AccuracyMatrix": AccuracyMatrix.of,
    "Counts": lambda given: given if isinstance(given, Counts) else Counts(given),
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

    - after: the name of its argument k, tasks learned, if it is defined after each task;
    - needs: those inputs of `probe.metrics.scorecard.scorecard` that it takes, by the same names;
    - scorecard: False for a function of something else than R, which no table computes by itself;
    - public: its name in `probe.metrics` where another metric has the plain one.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        signed = signature(function)
        first = next(iter(signed.parameters.values()))
        kind = next((own for own in _MADE if own in str(first.annotation)), None)

        @wraps(function)
        def checked(*given: Any, **named: Any) -> Any:
            if kind is None or not (given or first.name in named):
                return function(*given, **named)
            own, *rest = given or (named.pop(first.name),)
            return function(_MADE[kind](own), *rest, **named)

        if kind:
            taken = first.replace(annotation=f"{kind} | ArrayLike")
            others = [*signed.parameters.values()][1:]
            vars(checked)["__signature__"] = signed.replace(parameters=[taken, *others])
        setattr(
            checked, _MARK, Metric(checked, after, needs, scorecard, public or function.__name__)
        )
        return checked

    return cast(_Decorator, decorate)


@cache
def registered() -> tuple[Metric, ...]:
    """Return the metrics of every module of this package, by paper, in the order of the source."""
    package = __name__.rpartition(".")[0]
    papers = {name for _, name, _ in iter_modules(import_module(package).__path__)}
    order = [*_FIRST, *sorted(papers - {*_FIRST})]
    found = {name: vars(import_module(f"{package}.{name}")) for name in order}
    # A module may import another's function.
    return tuple(
        own
        for name in order
        for value in found[name].values()
        if (own := getattr(value, _MARK, None)) and own.paper == name
    )
