"""The metrics by name: a decorator above a function in the module of its paper registers it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar, cast

from probe.errors import InputError

Function = TypeVar("Function", bound=Callable[..., Any])

_MARK = "__metric__"

# In the order of the tables; papers that came later follow by their names.
_FIRST = ("gem", "diaz_rodriguez", "chaudhry", "kemker")


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
    *,
    after: str | None = None,
    needs: Sequence[str] = (),
    scorecard: bool = True,
    public: str = "",
) -> Callable[[Function], Function]:
    """Register a function as a metric: of an accuracy matrix R, (T+1, T), and of inputs by name.

    - after: the name of its argument k, tasks learned, if it is defined after each task;
    - needs: those inputs of `probe.metrics.scorecard.scorecard` that it takes, by the same names;
    - scorecard: False for a function of something else than R, which no table computes by itself;
    - public: its name in `probe.metrics` where another metric has the plain one.
    """

    def decorate(function: Function) -> Function:
        first, kind = next(iter(function.__annotations__.items()))
        of_matrix = "AccuracyMatrix" in str(kind)

        @wraps(function)
        def checked(*given: Any, **named: Any) -> Any:
            R = given[0] if given else named.get(first)
            if of_matrix and not hasattr(R, "check_task"):
                got = type(R).__name__
                raise InputError(f"R is an AccuracyMatrix, got {got}: use AccuracyMatrix.square")
            return function(*given, **named)

        own = Metric(checked, after, needs, scorecard, public or function.__name__)
        setattr(checked, _MARK, own)
        return cast(Function, checked)

    return decorate


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
