"""Run directories that lack tables, or whose tables were changed by hand."""

from tests.bad_input.making import TRAP
from tests.bad_input.refused import each

ROWS = (
    "scenario,network,learner,order,seed,step,head,feature,depth,measure,place,task,value\n"
    "digits,mlp,finetune,0,0,1,single,,,accuracy,1,0-1,0.5\n"
)
SUMMARY = "learner,feature,depth,measure,place,mean,std,seeds\nfinetune,output,1,pra,,0.5,,1\n"
METRICS = "learner,paper,metric,head,mean,std,seeds\nfinetune,gem,acc,single,0.5,,1\n"
TABLES = {
    "measurements.csv": ROWS,
    "summary.csv": SUMMARY,
    "metrics.csv": METRICS,
    "learners.csv": "learner,kind,per_class,total,sampling\nfinetune,finetune,,,\n",
    "times.csv": "learner,order,seed,step,seconds\nfinetune,0,0,1,2.5\n",
}
CELL = "{}.csv, line 2: '{}' cannot be the value of {}"

# The table that is changed, its content, and what is said of it.
CHANGES: dict[str, tuple[str, str | bytes | None, str]] = {
    "no-summary": ("summary", None, "no-summary/summary.csv cannot be read (...run the study"),
    "swapped": ("summary", METRICS, "summary.csv: expected the columns"),
    "long-line": (
        "measurements",
        ROWS.replace("0.5\n", "0.5,1\n"),
        "line 2 has 14 cells, expected 13",
    ),
    "nul": (
        "measurements",
        ROWS.replace("0.5", "0.\x005"),
        CELL.format("measurements", "0.\\x005", "value"),
    ),
    "minus": (
        "measurements",
        ROWS.replace("0,0,1", "0,0,-1"),
        CELL.format("measurements", -1, "step, expected 0"),
    ),
    "escape": (
        "summary",
        SUMMARY.replace("pra", "\x1b[2J\u202e"),
        CELL.format("summary", r"\x1b[2J\u202e", "measure"),
    ),
    "hostile": ("metrics", TRAP, "metrics.csv is not a table of this study ('utf-8'"),
    "quote": (
        "measurements",
        ROWS + '"' + "x" * 200000 + "\n",
        "is not a table of this study (field lar",
    ),
    "accuracy": ("measurements", ROWS.replace("0.5\n", "7.5\n"), "R[1,1] = 7.5 is outside [0, 1]"),
    "few-cells": (
        "measurements",
        ROWS.replace("0,0,1", "0,0,100000"),
        "100000 tasks...1 cells of R",
    ),
    "no-place": (
        "measurements",
        ROWS.replace("accuracy,1", "accuracy,"),
        "'accuracy' (learner 'finetune'",
    ),
}
FILES: dict[str, str | bytes] = {
    f"{name}/{file}": content
    for name, (table, changed, _) in CHANGES.items()
    for file, content in {**TABLES, f"{table}.csv": changed}.items()
    if content is not None
} | {
    "other/study.json": '{"name": "other"}',
    "deep/study.json": "[" * 100000,
    "hostile-study/study.json": TRAP,
    "folder-study/study.json/x": "",
    "older/study.json": '{"format": 8}',
}
MISTAKES = {
    **{f"figures {name}": said for name, (_, _, said) in CHANGES.items()},
    "figures absent": "absent/measurements.csv cannot be read (...run the study",
    "status folder-study": "folder-study holds no study (no study.json)",
    **each("status {}", "{}/study.json...again", "other", "deep", "hostile-study"),
    "status older": "older was written by an earlier version",
    "run tiny.toml --out older": "older was written by an earlier version...another --out",
    "status ''": ". holds no study...directory of a `probe run`",
}
