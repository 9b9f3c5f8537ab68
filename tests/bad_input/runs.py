"""Run directories that lack tables, or whose tables were changed by hand."""

from tests.bad_input.making import TRAP
from tests.bad_input.refused import each

ROWS = (
    "scenario,network,learner,order,seed,step,head,feature,depth,measure,place,task,value\n"
    "digits,mlp,finetune,0,0,1,single,,,accuracy,1,0-1,0.5\n"
)
SUMMARY = "learner,feature,depth,measure,place,mean,std,seeds\nfinetune,output,1,pra,,0.5,,1\n"
METRICS = "learner,paper,metric,head,mean,std,seeds\nfinetune,gem,acc,single,0.5,,1\n"
MORE = METRICS + "er,{0},{1},single,0.5,,1\nfinetune,{0},{1},single,0.5,,1\n"
LEARNERS = "learner,kind,per_class,total,sampling\nfinetune,finetune,,,\n"
TIMES = "learner,order,seed,step,seconds\nfinetune,0,0,1,2.5\n"
TABLES = {
    "rows.csv": ROWS,
    "summary.csv": SUMMARY,
    "metrics.csv": METRICS,
    "learners.csv": LEARNERS,
    "times.csv": TIMES,
}


def run(name, changes):
    files = {**TABLES, **changes}
    return {f"{name}/{n}": c for n, c in files.items() if c is not None}


CHANGES = {
    "no-summary": {"summary.csv": None},
    "no-metrics": {"metrics.csv": None},
    "no-learners": {"learners.csv": None},
    "empty-rows": {"rows.csv": ""},
    "other-columns": {"rows.csv": SUMMARY},
    "swapped": {"summary.csv": METRICS, "metrics.csv": SUMMARY},
    "short-line": {"rows.csv": ROWS + "digits,mlp\n"},
    "long-line": {"rows.csv": ROWS.replace("0.5\n", "0.5,1\n")},
    "cut-line": {"summary.csv": SUMMARY[:-20]},
    "no-number": {"rows.csv": ROWS.replace("0.5\n", "half\n")},
    "float-seed": {"rows.csv": ROWS.replace("0,0,1", "0,0.5,1")},
    "no-depth": {"summary.csv": SUMMARY.replace("output,1", "output,")},
    "nul": {"rows.csv": ROWS.replace("0.5", "0.\x005")},
    "latin": {"learners.csv": LEARNERS.encode() + b"\xe9,er,,,\n"},
    "pickle": {"metrics.csv": TRAP},
    "quote": {"rows.csv": ROWS + '"' + "x" * 200000 + "\n"},
    "accuracy": {"rows.csv": ROWS.replace("0.5\n", "7.5\n")},
    "minus": {"rows.csv": ROWS.replace("0,0,1", "0,0,-1")},
    "far-step": {"rows.csv": ROWS.replace("0,0,1", "0,0,1000000000")},
    "few-cells": {"rows.csv": ROWS.replace("0,0,1", "0,0,100000")},
    "inf-mean": {"metrics.csv": METRICS.replace("0.5,,1", "inf,,1")},
    "minus-std": {"summary.csv": SUMMARY.replace("0.5,,1", "0.5,-0.5,2")},
    "measure": {"rows.csv": ROWS.replace("accuracy", "acuracy")},
    "escape": {"summary.csv": SUMMARY.replace("pra", "\x1b[2J\u202e")},
    "notes": {"notes.csv": "learner,order,seed,feature,note\nfinetune,0,x,output,so\n"},
    "no-place": {"rows.csv": ROWS.replace("accuracy,1", "accuracy,")},
    **{
        f"last-{last}": {"metrics.csv": MORE.format("chaudhry", f"average_accuracy[{last}]")}
        for last in ("x", "0", "99999999")
    },
}
FILES = {path: c for name, changes in CHANGES.items() for path, c in run(name, changes).items()} | {
    "folder-rows/rows.csv/x": "",
    "other/study.json": '{"name": "other"}',
    "text/study.json": "not json",
    "empty/study.json": "",
    "deep/study.json": "[" * 100000,
    "pickle/study.json": TRAP,
    "folder-study/study.json/x": "",
}
UNREAD = "cannot be read (...run the study first"
CELLS = {
    "no-number": "rows.csv, line 2: 'half' cannot be the value of value",
    "float-seed": "rows.csv, line 2: '0.5' cannot be the value of seed",
    "no-depth": "summary.csv, line 2: '' cannot be the value of depth",
    "nul": "rows.csv, line 2: '0.\\x005' cannot be the value of value",
    "minus": "rows.csv, line 2: '-1' cannot be the value of step, expected 0 or more",
    "far-step": "rows.csv, line 2: '1000000000' cannot be the value of step, expected",
    "inf-mean": "metrics.csv, line 2: 'inf' cannot be the value of mean, expected 1e+15 or less",
    "minus-std": "summary.csv, line 2: '-0.5' cannot be the value of std, expected",
    "measure": "rows.csv, line 2: 'acuracy' cannot be the value of measure, expected",
    "notes": "notes.csv, line 2: 'x' cannot be the value of seed, expected a whole number",
    "escape": r"summary.csv, line 2: '\x1b[2J\u202e' cannot be the value of measure",
}
MISTAKES = {
    **{f"figures no-{n}": f"no-{n}/{n}.csv {UNREAD}" for n in ("summary", "metrics", "learners")},
    "figures folder-rows": f"folder-rows/rows.csv {UNREAD}",
    **each("figures {}", "{}/rows.csv...expected the columns", "empty-rows", "other-columns"),
    "figures swapped": "swapped/summary.csv: expected the columns",
    "figures short-line": "short-line/rows.csv, line 3 has 2 cells, expected 13",
    "figures long-line": "long-line/rows.csv, line 2 has 14 cells, expected 13",
    "figures cut-line": "cut-line/summary.csv, line 2 has 2 cells, expected 8",
    **{f"figures {name}": f"{name}/{said}" for name, said in CELLS.items()},
    "figures latin": "latin/learners.csv is not a table of this study ('utf-8'...invalid",
    "figures pickle": "pickle/metrics.csv is not a table of this study ('utf-8'...invalid",
    "figures quote": "quote/rows.csv is not a table of this study (field larger than field limit",
    "figures accuracy": "R[1,1] = 7.5 is outside [0, 1]: give fractions, not percent",
    "figures few-cells": "the accuracies of 'finetune' name 100000 tasks, but have 1 cells of R",
    "figures no-place": "a row of measure 'accuracy' (learner 'finetune', seed 0)...write the",
    **each(
        "figures last-{}",
        "the metric average_accuracy[{}] needs a whole number from 1 to 100000 in brackets",
        *("x", "0", "99999999"),
    ),
    "status folder-study": "folder-study holds no study (no study.json): name the directory",
    **each(
        "status {}",
        "{}/study.json",
        *("other", "text", "empty", "deep", "pickle"),
    ),
}
