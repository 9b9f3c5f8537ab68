"""Write the pages on our studies from the CSV files in the folders here.

    python docs/found/write.py               # found.md, its pages, checklist.md
    python docs/found/write.py --pictures    # these and all pictures: `make found`
    python docs/found/write.py --check       # exit code 1 if a page would change

studies.toml has what is written by hand, papers.csv what the papers print. In found.md a
number stands between `<!-- value STUDY TABLE QUERY FORM -->` and `<!-- /value -->`, and a
generated part between `<!-- KIND ARGUMENT -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import findings
import pandas as pd
import published
import tables
from PIL import Image
from tables import HERE, has, markdown, table

import figures

DOCS = HERE.parent
STUDIES = tomllib.loads((HERE / "studies.toml").read_text("utf-8"))
NUMBER = re.compile(r"(<!-- value ([^>]*) -->).*?(<!-- /value -->)")
BLOCK = re.compile(
    r"(<!-- (studies|checklist)([^>]*) -->\n).*?(<!-- end -->)", re.DOTALL
)
COMPUTED = {
    "within": published.within,
    "correlations": findings.correlations,
    "methods": findings.methods,
}
EXTRA_TABLES = {
    "budgets": tables.budgets,
    "cheap": findings.cheap,
    "multimodal": tables.multimodal,
    "murata": findings.murata,
    "redundancy": tables.redundancy,
    "sessions": findings.sessions,
    "settings": findings.settings,
    "shares": findings.shares,
    "switches": findings.switches,
    "variants": tables.variants,
}
TITLES = {
    "budgets": "`{}` by budget of retraining",
    "cheap": "Cheap measures against costly ones",
    "multimodal": "Multi-head Omega by the data set learned first",
    "murata": "The paper's findings",
    "redundancy": "Table S9: non-redundant features",
    "sessions": "All sessions together",
    "settings": "One setting changed, {}-head",
    "shares": "Settings changed: accuracy in % by share",
    "switches": "One setting changed: mean distance from the paper, in points",
    "variants": "`{}` of each method",
}
NEVER = {
    "no data": "We have never run these items, because we do not have their data",
    "hours": "We have never run these items, because they take days on one CPU",
    "no command": "No command runs this item",
}
PICTURES = {
    "answer": "What each layer lost by its change, and what is still there",
    "bias": "F1 of each task by its position, downstream of each layer",
    "budget": "Accuracy by the epochs of the retraining",
    "causes": "Loss that the change of each layer accounts for, by method",
    "depth": "Accuracy downstream of each layer, between untrained and joint",
    "layers": "Accuracy missing in each layer, by task",
    "memory": "Accuracy by the number of stored examples",
    "multimodal": "Accuracy downstream of each layer, images and speech",
    "redundancy": "Symmetric uncertainty between pixels",
    "sampling": "Accuracy by sampling strategy",
    "sessions": "Accuracy over the tasks",
    "spider": "Criteria of each method",
    "time": "Accuracy downstream of each layer while tasks are learned",
    "tradeoff": "Forgetting against intransigence",
}


def rows_of(study: str, name: str) -> pd.DataFrame:
    """Return a table of a study, or what is computed from its tables."""
    return COMPUTED[name](study) if name in COMPUTED else table(study, name)


def value(
    study: str,
    name: str,
    query: str,
    form: str,
    read: Callable[[str, str], pd.DataFrame] = rows_of,
) -> str:
    """Return one number of a study's table as text.

    Args:
        study: The folder.
        name: The file's name without its ending, or a key of `COMPUTED`.
        query: `column=value` joined by commas; `+` is a space. A row for all tasks is
            meant where `task_position` is not named.
        form: `points`, `interval` (both of fractions), `range` (two decimals), or a column.
        read: What returns the rows.

    Raises:
        ValueError: Not exactly one row fits.
    """
    rows = read(study, name)
    if "task_position" in rows and "task_position" not in query:
        rows = rows[rows.task_position.isna()]
    for condition in query.split(","):
        column, _, wanted = condition.replace("+", " ").partition("=")
        rows = rows[rows[column].astype(str) == wanted]
    if len(rows) != 1:
        raise ValueError(f"{len(rows)} rows of {study}/{name} fit {query}")
    return formatted(rows.iloc[0], form)


def formatted(row: pd.Series, form: str) -> str:
    """Return a value of a row in a form."""
    if form == "points":
        return f"{100 * row['value']:.1f}"
    if form == "interval":
        return tables.with_interval(row)
    if form == "range":
        return tables.with_interval(row, scale=1, digits=2)
    return tables.verdict(str(row[form]))


def page(study: str) -> str:
    """Return the page of a study."""
    text = STUDIES[study]
    parts = [f"# {text['title']}", f"*{text['question']}*", markdown(facts(study))]
    if "differences" in text:
        parts.append(f"**Differences from the paper.** {text['differences']}")
    if "notes" in text:
        parts.append(text["notes"])
    for picture in sorted((HERE / study).glob("*.png")):
        kind = picture.stem.partition("-")[0]
        parts.append(f"![{PICTURES[kind]}]({study}/{picture.name})")
    for title, content in sections(study):
        parts += [f"## {title}", content]
    parts.append("[All studies](../found.md) · [Columns](../tables.md)")
    return "\n\n".join(parts) + "\n"


def facts(study: str) -> pd.DataFrame:
    """Return how a study was run."""
    text = STUDIES[study]
    rows = {"command": f"`{text['command']}`"}
    if "commit" in text:
        rows["settings of commit"] = text["commit"]
    times = [text["time"]] if "time" in text else []
    if has(study, "times"):
        seconds = table(study, "times").seconds.sum()
        times.append(f"training {seconds:,.0f} seconds")
    if times:
        rows["time"] = "; ".join(times)
    if has(study, "measurements"):
        runs = table(study, "measurements")
        rows["seeds, orders"] = f"{runs.seed.nunique()}, {runs.order.nunique()}"
    return pd.DataFrame({"run": rows.keys(), "value": rows.values()})


def sections(study: str) -> Iterator[tuple[str, str]]:
    """Yield title and text of each table of a study."""
    if has(study, "metrics") and not published.published(study).empty:
        rows = markdown(published.beside(study))
        yield "Beside the paper", f"{published.agreement(study)}\n\n{rows}"
    for call in STUDIES[study].get("tables", []):
        kind, *arguments = call.split()
        title = TITLES[kind].format(*arguments)
        yield title, markdown(EXTRA_TABLES[kind](study, *arguments))
    if has(study, "layers") and "seed" in table(study, "layers"):
        return  # one table for each seed: nothing to state
    if has(study, "causes"):
        yield "Each layer's change, in points", markdown(tables.causes(study))
    if has(study, "layers"):
        for readout in table(study, "layers").readout.unique():
            title = f"Still there by readout `{readout}`, in % and points"
            yield title, markdown(tables.layers(study, readout))
    if has(study, "statements"):
        yield "Verdicts", markdown(tables.statements(study), folded_above=0)
    if has(study, "notes"):
        yield "Notes of the runs", markdown(tables.doubts(study))


def studies() -> str:
    """Return the list of all studies."""
    return "\n".join(
        f"- [{text['title']}](found/{study}.md): {text['question']}"
        for study, text in STUDIES.items()
    )


def checklist(source: str) -> str:
    """Return the items of a paper: what is computed or ran, then what never ran, and why."""
    items = pd.read_csv(HERE / "checklist.csv", keep_default_na=False)
    items = items[items.source == source]
    rows = []
    for item in items[~items.ran.isin(NEVER)].itertuples():
        commands = [f"`{part}`" for part in item.command.split("; ") if part]
        rows.append([item.item, "; ".join(commands), item.setting, ran(item)])
    columns = ["item", "command", "setting", "what ran"]
    parts = [markdown(pd.DataFrame(rows, columns=columns), len(rows))]
    for reason, sentence in NEVER.items():
        missing = items[items.ran == reason]
        names = [f"- {item.item} ({would_run(item)})" for item in missing.itertuples()]
        if names:
            parts.append("\n".join([f"{sentence}:\n", *names]))
    return "\n\n".join(parts)


def would_run(item: tuple) -> str:
    """Return the command that would run an item, without its data; or why there is none."""
    pattern = r"probe (run|redundancy) .*?(?= --data| --dataset|;|$)"
    command = re.search(pattern, item.command)
    return f"`{command[0]}`" if command else item.remark


def ran(item: tuple) -> str:
    """Return what ran of an item, with the study's page and its agreement with the paper."""
    parts = []
    if item.shipped:
        parts.append(f"[in {item.ran}](found/{item.shipped}.md)")
        compares = item.item.startswith("Table") and has(item.shipped, "metrics")
        if compares and not published.published(item.shipped).empty:
            parts.append(published.agreement(item.shipped, short=True))
    if item.remark:
        parts.append(item.remark)
    return ". ".join(parts)


def written(text: str) -> str:
    """Return found.md or checklist.md with its numbers and generated parts made anew."""
    # A page has many numbers of a table.
    read = cache(rows_of)

    def number(match: re.Match[str]) -> str:
        return match[1] + value(*match[2].split(), read) + match[3]

    def block(match: re.Match[str]) -> str:
        content = studies() if match[2] == "studies" else checklist(match[3].strip())
        return f"{match[1]}{content}\n{match[4]}"

    return BLOCK.sub(block, NUMBER.sub(number, text))


def pages() -> dict[Path, str]:
    """Return the text that each page should have."""
    texts = {HERE / f"{study}.md": page(study) for study in STUDIES}
    for path in (DOCS / "found.md", DOCS / "checklist.md"):
        texts[path] = written(path.read_text("utf-8"))
    return texts


def stale(texts: dict[Path, str]) -> list[Path]:
    """Return the pages that differ from what they should be, or belong to no study."""
    paths = {*texts, *HERE.glob("*.md")}
    return [
        path
        for path in sorted(paths)
        if not path.exists() or path.read_text("utf-8") != texts.get(path)
    ]


def draw(picture: Path) -> None:
    """Draw a picture STUDY/KIND-OPTIONS.png of a study with measurements, in 256 colors."""
    kind, *names = picture.stem.split("-")
    options = {}
    if names:
        options["learners" if kind in ("answer", "causes") else "readouts"] = names
    figure = getattr(figures, kind)(picture.parent, **options)
    figure.savefig(picture)
    with Image.open(picture) as image:
        coverage = Image.Quantize.MAXCOVERAGE
        reduced = image.convert("RGB").quantize(256, coverage, kmeans=3)
        reduced.save(picture, optimize=True, dpi=image.info["dpi"])


if __name__ == "__main__":
    texts = pages()
    outdated = stale(texts)
    if "--check" in sys.argv:
        for path in outdated:
            print(f"{path}: run `make found`")
        sys.exit(bool(outdated))
    for path, text in texts.items():
        path.write_text(text, "utf-8")
    if "--pictures" in sys.argv:
        for picture in sorted(HERE.glob("*/*.png")):
            if has(picture.parent.name, "measurements"):
                draw(picture)
