"""A progress bar on the terminal or in a notebook."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import StringIO
from operator import length_hint
from time import monotonic
from typing import Any, TypeVar

from probe.seeding import python_generators

Item = TypeVar("Item")

_PAUSE = 0.2  # seconds between two pictures in a notebook


def tracked(items: Iterable[Item], label: str) -> Iterator[Item]:
    """Yield the items, with a progress bar.

    Args:
        items: The items.
        label: The text beside the bar.

    Yields:
        Each item.
    """
    with progress_bar(label, length_hint(items) or None) as advance:
        for item in items:
            yield item
            advance(1)


@contextmanager
def progress_bar(
    label: str, total: int | None, shown: bool = True
) -> Iterator[Callable[[int], None]]:
    """Show a bar within the block, on a terminal's standard error or below a notebook's cell.

    Args:
        label: The text before the bar.
        total: The number of items, None = unknown.
        shown: Whether to show it at all.

    Yields:
        A function that advances the bar by a number of items.
    """
    with python_generators():  # to import it draws a number from `random`
        from rich.console import Console
        from rich.progress import Progress

    console = Console(stderr=True)
    hidden = not (shown and console.is_terminal)
    with Progress(console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task(label, total=total)
        draw = _in_notebook(progress) if shown and console.is_jupyter else None
        last_drawn = monotonic()

        def advance(items: int) -> None:
            nonlocal last_drawn
            progress.advance(task, items)
            if draw and monotonic() - last_drawn > _PAUSE:
                last_drawn = monotonic()
                draw()

        yield advance
        if draw:
            draw()


def _in_notebook(progress: Any) -> Callable[[], None]:
    """Return a function that shows a Progress of rich below a cell, in one place, as plain text.

    Rich's own display in notebooks would need ipywidgets.
    """
    from IPython.display import display
    from rich.console import Console

    def text() -> dict[str, str]:
        console = Console(
            file=StringIO(), width=80, force_jupyter=False, color_system=None
        )
        with console.capture() as drawn:
            console.print(progress.get_renderable())
        return {"text/plain": drawn.get().rstrip()}

    handle = display(text(), raw=True, display_id=True)
    return lambda: handle.update(text(), raw=True)
