"""The answer as text: lines of a terminal, at most 80 columns wide, and Markdown."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from textwrap import wrap

from probe.answers.record import Answer, Interval, LayerLine
from probe.errors import printable
from probe.tables.layer_text import points, word_of
from probe.tables.schemas import CAUSE_VERDICTS
from probe.tables.sheets import Sheet

WIDTH = 80
"""The columns of a terminal."""

_CAUSE = 35  # columns of a cause, more where its interval is long
_SCALE = 7  # columns between untrained and joint
_TITLE = 9  # columns before a sentence
_COLUMNS = (
    "layer",
    "accounts for",
    "harm",
    "repair",
    "verdict",
    "untrained",
    "still there",
    "joint",
    "never learned",
)
_CONTENT = 33  # columns of what is still there


def with_ends(interval: Interval, decimals: int = 1) -> str:
    """Return an interval in points, with its ends in brackets.

    >>> with_ends(Interval(value=0.31, low=0.206, high=0.411), 0)
    '31.0 [21, 41]'
    """
    if math.isnan(interval.low):
        return points(interval.value)
    low = f"{round(100 * interval.low, decimals) + 0:.{decimals}f}"
    high = f"{round(100 * interval.high, decimals) + 0:.{decimals}f}"
    return f"{points(interval.value)} [{low}, {high}]"


def cut(name: str, width: int) -> str:
    """Return a name of at most so many characters: the end tells layers apart."""
    return name if len(name) <= width else f"…{name[1 - width :]}"


def wrapped(title: str, sentences: Sequence[str]) -> Iterator[str]:
    """Yield sentences beside their title, in lines of at most 80 columns."""
    lines = [line for sentence in sentences for line in wrap(sentence, WIDTH - _TITLE)]
    for line in lines:
        yield f"{title:<{_TITLE}}{line}"
        title = ""


def headline(answer: Answer) -> str:
    """Return the answer in a sentence with two numbers."""
    if not answer.tasks:
        return "learned one task: there was nothing to forget"
    if answer.forgotten is None:
        return f"{answer.tasks}: what was forgotten is not measured"
    value = answer.forgotten.value
    learned = points(answer.learned) if answer.learned is not None else ""
    if float(points(value)) < 0:
        on_top = f" on top of {learned}" if learned else ""
        return f"gained {points(-value)}{on_top} points of {answer.tasks}"
    of = f" of {learned}" if learned else ""
    return f"forgot {points(value)}{of} points of {answer.tasks}; {_guilty(answer)}"


def _guilty(answer: Answer) -> str:
    """Return whose change it was, in a few words."""
    if not answer.has_causes:
        return "by which layers is not measured"
    if not answer.main_layers:
        return "by which layers is not shown"
    layers_of: dict[str, list[str]] = {word: [] for word in (*CAUSE_VERDICTS, "")}
    for line in answer.main_layers:
        layers_of[line.verdict].append(line.layer)
    return "; ".join(
        f"{word_of(verdict) or 'competing'}: {', '.join(layers)}"
        for verdict, layers in layers_of.items()
        if layers
    )


def answer_lines(answers: Sequence[Answer]) -> Iterator[tuple[str, str]]:
    """Yield the lines of answers, each with the verdict of its layer, and how to read them.

    A line has at most 80 columns, but a command that can be pasted is not broken.
    """
    for answer in answers:
        for line in wrap(f"{answer.method} {headline(answer)}", WIDTH):
            yield line, ""
        if answer.layers:
            verdicts = [line.verdict for line in answer.layers]
            yield from zip(_table_lines(answer), ["", "", *verdicts], strict=True)
        for line in wrapped("rests on", answer.belief):
            yield line, ""
        yield f"{'next':<{_TITLE}}{answer.purpose}:", ""
        yield f"{'':<{_TITLE}}{answer.next}", ""
        yield "", ""
    for line in _legend(answers):
        yield line, ""


def _table_lines(answer: Answer) -> Iterator[str]:
    """Yield a header of two lines, and a line for each layer of an answer."""
    has_held = any(line.held for line in answer.layers)
    shares = _shares(answer.layers)
    causes = [*map(_cause, answer.layers, shares)]
    of_causes = max([_CAUSE, *map(len, causes)]) if answer.has_causes else 0
    # Long ends of intervals take their columns from the names.
    names = ["layer", *(line.layer for line in answer.layers)]
    width = min(WIDTH - _CONTENT - of_causes, max(map(len, names)) + 2)
    head = f"{'accounts for':<{len(shares[0])}} harm repair verdict"
    rows = [
        ("layer", head, "still there    joint never"),
        ("", "", "untrained                  learned"),
    ]
    for line, cause in zip(answer.layers, causes, strict=True):
        rows.append((cut(line.layer, width - 1), cause, _content(line)))
    for name, cause, content in rows:
        left = f"{name:<{width}}{cause if answer.has_causes else ''}".rstrip()
        right = content if has_held else ""
        # What is still there ends in one column, its header, too.
        yield f"{left:<{width + of_causes + _CONTENT - len(right)}}{right}".rstrip()


def _shares(layers: Sequence[LayerLine]) -> list[str]:
    """Return what the changes of layers account for, as texts of one length."""
    texts = [with_ends(line.cost, 0) if line.cost else "" for line in layers]
    parts = [text.partition(" ") for text in texts]
    of_value = max([4, *(len(value) for value, *_ in parts)])
    of_ends = max([8, *(len(ends) for *_, ends in parts)])
    return [f"{value:>{of_value}} {ends:<{of_ends}}" for value, _, ends in parts]


def _cause(line: LayerLine, share: str) -> str:
    """Return what the change of a layer accounts for, with both its ends and the verdict."""
    if line.cost is None:
        return ""
    harm, repair = _ends(line)
    return f"{share} {harm:<4} {repair:<4} {word_of(line.verdict)}"


def _ends(line: LayerLine) -> Iterator[str]:
    """Yield whether harm and repair are shown; a dash where they were not measured."""
    for end in (line.harm, line.repair):
        yield end.shown if end else "-"


def _content(line: LayerLine) -> str:
    """Return what is still there, on a scale between untrained and joint."""
    if line.held is None:
        return ""
    scale = ""
    if line.position is not None:
        before = round((_SCALE - 1) * line.position)
        scale = f"{'·' * before}o{'·' * (_SCALE - 1 - before)}"
    elif line.below_untrained:
        scale = "below"
    elif line.has_little_room:
        scale = "no room"
    untrained, held, joint, never = _numbers(line)
    return f"{untrained:>7} {held:>5} {scale:<{_SCALE}} {joint:>5}{never:>6}"


def _numbers(line: LayerLine) -> Iterator[str]:
    """Yield what untrained, these networks and joint hold, and what was never learned."""
    held = line.held.value if line.held else None
    never = line.never_learned.value if line.never_learned else None
    for value in (line.untrained, held, line.joint, never):
        yield "-" if value is None else points(value)


def answers_as_text(answers: Sequence[Answer]) -> str:
    """Return answers as plain text, with a line between them, and what verdicts mean."""
    lines = [line for line, _ in answer_lines(answers)]
    return printable("\n".join(lines).rstrip(), "\n")


_OF_CAUSES = (
    "forgot: points of accuracy, a mean over these tasks; then the three layers that",
    "account for the most of it",
    "accounts for: points that undoing it returns, averaged over all orders of",
    "undoing the layers [95 % interval]; they add up to what was forgotten",
    "harm: its change alone loses points; repair: undoing it alone returns some",
)
_MARKS = "yes: shown above 0; no: below a point; ?: not settled"
_OF_CONTENT = (
    "still there: accuracy (%) of a readout fitted to the layer; o: its place from",
    "untrained (left) to joint (right); below: less than untrained",
    "never learned: points below joint right after the task; -: none",
)


def _legend(answers: Sequence[Answer]) -> Iterator[str]:
    """Yield how to read the table of answers, and a line for each verdict in it."""
    layers = [line for answer in answers for line in answer.layers]
    if any(line.cost for line in layers):
        yield from _OF_CAUSES
        is_below = any("<0" in _ends(line) for line in layers)
        yield f"{_MARKS}{'; <0: the opposite is shown' * is_below}"
    if any(line.held for line in layers):
        yield from _OF_CONTENT
    yield from meanings({line.verdict for line in layers})


def meanings(verdicts: Collection[str]) -> Iterator[str]:
    """Yield a line with the meaning of each of these verdicts, in the order of their table."""
    for word, meaning in CAUSE_VERDICTS.items():
        if word in verdicts:
            yield f"{word_of(word)}: {meaning}"


def answer_sheet(answer: Answer) -> Sheet:
    """Return the layers of an answer as a table, a dash where nothing was measured."""
    return Sheet(
        of=answer.method,
        title=headline(answer),
        columns=_COLUMNS,
        lines=[_cells(line) for line in answer.layers],
        after=(*answer.belief, f"next, {answer.purpose}: `{answer.next}`"),
    )


def as_markdown(answers: Iterable[Answer]) -> str:
    """Return answers as Markdown, for a README or a pull request."""
    lines: list[str] = []
    for answer in answers:
        sheet = answer_sheet(answer)
        lines += [f"**{sheet.of}** {sheet.title}.", ""]
        rows = [_COLUMNS, ["---"] * len(_COLUMNS), *sheet.lines]
        lines += [f"| {' | '.join(row)} |" for row in rows]
        lines += ["", *(f"- {sentence}" for sentence in sheet.after), ""]
    return printable("\n".join(lines), "\n")


def _cells(line: LayerLine) -> list[str]:
    """Return the cells of a layer; a dash where nothing was measured."""
    return [
        line.layer,
        with_ends(line.cost) if line.cost else "-",
        *_ends(line),
        word_of(line.verdict) or "-",
        *_numbers(line),
    ]
