"""The answer as text: lines of a terminal, at most 80 columns wide, and Markdown."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from textwrap import wrap

from probe.answers.record import Answer, Interval, LayerLine
from probe.errors import printable
from probe.tables.layer_text import points, word_of
from probe.tables.note_text import listed
from probe.tables.schemas import CANNOT_TELL, CAUSE_VERDICTS
from probe.tables.sheets import Sheet

WIDTH = 80
"""The columns of a terminal."""

_NAME = 12  # columns of a layer's name
_CAUSE = 32  # columns of a cause, more where its interval is long
_BAR = 6  # columns of the longest bar
_SCALE = 7  # columns between untrained and joint
_TITLE = 9  # columns before a sentence
_COLUMNS = (
    "layer",
    "accounts for",
    "verdict",
    "untrained",
    "still there",
    "joint",
    "never learned",
)
_HEADS = (
    "    un- still         joint  never",
    "trained there              learned",
)


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


def bar(value: float, largest: float) -> str:
    """Return a bar as long as the value's part of the largest one, padded to the longest."""
    length = round(_BAR * max(0.0, value) / (largest or 1.0))
    return f"{'█' * length:<{_BAR}}"


def wrapped(title: str, sentences: Sequence[str]) -> Iterator[str]:
    """Yield sentences beside their title, in lines of at most 80 columns."""
    lines = [line for sentence in sentences for line in wrap(sentence, WIDTH - _TITLE)]
    for line in lines:
        yield f"{title:<{_TITLE}}{line}"
        title = ""


def headline(answer: Answer) -> str:
    """Return the answer in at most 20 words and two numbers."""
    if not answer.tasks:
        return "learned one task: there was nothing to forget"
    if answer.forgotten is None:
        return f"{answer.tasks}: what was forgotten is not measured"
    forgotten = f"forgot {points(answer.forgotten.value)}"
    if answer.forgotten.value < 0:
        forgotten = f"gained {points(-answer.forgotten.value)}"
    of = f" of {points(answer.learned)}" if answer.learned is not None else ""
    return f"{forgotten}{of} points of {answer.tasks}; {_guilty(answer)}"


def _guilty(answer: Answer) -> str:
    """Return whose change it was, in a few words."""
    if not answer.has_causes:
        return "by which layers is not measured"
    if not answer.main_layers:
        return "by which layers is not shown"
    text = f"over half by {' + '.join(answer.main_layers)}"
    if answer.unsettled:
        text += f" ({listed(answer.unsettled)}: {CANNOT_TELL})"
    return text


def answer_lines(answers: Sequence[Answer]) -> Iterator[tuple[str, str]]:
    """Yield the lines of answers, each with the verdict of its layer, and how to read them.

    A line has at most 80 columns, but a command that can be pasted is not broken. Bars
    have one scale, so that methods can be compared.
    """
    layers = [line for answer in answers for line in answer.layers]
    largest = max((line.cost.value for line in layers if line.cost), default=0)
    for answer in answers:
        for line in wrap(f"{answer.method} {headline(answer)}", WIDTH):
            yield line, ""
        if answer.layers:
            verdicts = [line.verdict for line in answer.layers]
            lines = _table_lines(answer, largest)
            yield from zip(lines, ["", "", *verdicts], strict=True)
        for line in wrapped("rests on", answer.belief):
            yield line, ""
        yield f"{'next':<{_TITLE}}{answer.purpose}:", ""
        yield f"{'':<{_TITLE}}{answer.next}", ""
        yield "", ""
    for line in _legend(layers):
        yield line, ""


def _table_lines(answer: Answer, largest: float) -> Iterator[str]:
    """Yield a header of two lines, and a line for each layer of an answer."""
    has_held = any(line.held for line in answer.layers)
    causes = [_cause(line, largest) for line in answer.layers]
    of_causes = max([_CAUSE, *map(len, causes)])
    # Long ends of intervals take their columns from the names.
    names = ["layer", *(line.layer for line in answer.layers)]
    width = min(_NAME + _CAUSE - of_causes, max(map(len, names)))
    rows = [
        ("layer", f"{'accounts for':<21}verdict", _HEADS[0]),
        ("", "", _HEADS[1]),
    ]
    for line, cause in zip(answer.layers, causes, strict=True):
        rows.append((cut(line.layer, width), cause, _content(line)))
    for name, cause, content in rows:
        text = f"{name:<{width}}"
        if answer.has_causes:
            text += f"  {cause:<{of_causes}}"
        if has_held:
            text += content
        yield text.rstrip()


def _cause(line: LayerLine, largest: float) -> str:
    """Return what the change of a layer accounts for, with a bar and the verdict."""
    if line.cost is None:
        return ""
    value, _, ends = with_ends(line.cost, 0).partition(" ")
    share = f"{value:>4} {ends:<8}"
    return f"{share} {bar(line.cost.value, largest)} {word_of(line.verdict)}"


def _content(line: LayerLine) -> str:
    """Return what is still there, on a scale between untrained and joint."""
    if line.held is None:
        return ""
    scale = ""
    if line.position is not None:
        before = round((_SCALE - 1) * line.position)
        scale = "·" * before + "o" + "·" * (_SCALE - 1 - before)
    elif line.below_untrained:
        scale = "below"
    elif line.has_little_room:
        scale = "no room"
    untrained, held, joint, never = _numbers(line)
    return f"{untrained:>7} {held:>5} {scale:<{_SCALE}} {joint:>5}{never:>7}"


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


_LEGEND = (
    "accounts for: its points of the accuracy forgotten [95 % interval]; they add up",
    "still there: a readout's accuracy (%), o in place; below: less than untrained",
    "never learned: points below joint right after the task; -: none is shown",
    "harm: what a layer's change does alone; repair: what undoing it alone returns",
)


def _legend(layers: Sequence[LayerLine]) -> Iterator[str]:
    """Yield how to read the table of answers, and a line for each verdict in it."""
    if layers:
        yield from _LEGEND
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
        word_of(line.verdict) or "-",
        *_numbers(line),
    ]
