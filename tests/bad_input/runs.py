"""Run directories whose tables are damaged."""

from tests.bad_input.making import TRAP

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
    "long-number": {"rows.csv": ROWS.replace("0,0,1", "0," + "9" * 5000 + ",1")},
    "nul": {"rows.csv": ROWS.replace("0.5", "0.\x005")},
    "latin": {"learners.csv": LEARNERS.encode() + b"\xe9,er,,,\n"},
    "pickle": {"metrics.csv": TRAP},
    "quote": {"rows.csv": ROWS + '"' + "x" * 200000 + "\n"},
    "times": {"times.csv": TIMES.replace("2.5", "long")},
    "accuracy": {"rows.csv": ROWS.replace("0.5\n", "7.5\n")},
    "inf": {"rows.csv": ROWS.replace("0.5\n", "inf\n")},
    "minus": {"rows.csv": ROWS.replace("0,0,1", "0,0,-1")},
    "far-step": {"rows.csv": ROWS.replace("0,0,1", "0,0,1000000000")},
    "far-place": {"rows.csv": ROWS.replace("accuracy,1", f"accuracy,{10**21}")},
    "far-depth": {"summary.csv": SUMMARY.replace("output,1", "output,100001")},
    "few-cells": {"rows.csv": ROWS.replace("0,0,1", "0,0,100000")},
    "minus-seed": {"rows.csv": ROWS.replace("0,0,1", "0,-3,1")},
    "minus-depth": {"summary.csv": SUMMARY.replace("output,1", "output,-1")},
    "no-seeds": {"metrics.csv": METRICS.replace("0.5,,1", "0.5,,0")},
    "many-seeds": {"metrics.csv": METRICS.replace("0.5,,1", f"0.5,,{10**30}")},
    "inf-mean": {"metrics.csv": METRICS.replace("0.5,,1", "inf,,1")},
    "far-mean": {"metrics.csv": METRICS.replace("0.5,,1", "1e308,,1")},
    "inf-std": {"summary.csv": SUMMARY.replace("0.5,,1", "0.5,inf,2")},
    "minus-std": {"summary.csv": SUMMARY.replace("0.5,,1", "0.5,-0.5,2")},
    "minus-time": {"times.csv": TIMES.replace("2.5", "-inf")},
    "measure": {"rows.csv": ROWS.replace("accuracy", "acuracy")},
    "measures": {"summary.csv": SUMMARY.replace("pra", "\x1b[2J\u202e")},
    **{
        f"last-{last}": {"metrics.csv": MORE.format("chaudhry", f"average_accuracy[{last}]")}
        for last in ("x", "0", "٣", "1_0", "99999999")
    },
    "session": {"metrics.csv": MORE.format("kemker", "alpha_all[1.5]")},
    "no-place": {"rows.csv": ROWS.replace("accuracy,1", "accuracy,")},
}
FILES = {path: c for name, changes in CHANGES.items() for path, c in run(name, changes).items()} | {
    "folder-rows/rows.csv/x": "",
    "other/study.json": '{"name": "other"}',
    "list/study.json": "[]",
    "text/study.json": "not json",
    "empty/study.json": "",
    "null/study.json": "null",
    "deep/study.json": "[" * 100000,
    "digits/study.json": '{"version": ' + "9" * 5000 + "}",
    "pickle/study.json": TRAP,
    "folder-study/study.json/x": "",
}
MISTAKES = {
    "figures no-summary": [
        "no-summary/summary.csv cannot be read (No such file or",
        "run the study first",
    ],
    "figures no-metrics": [
        "no-metrics/metrics.csv cannot be read (No such file or",
        "run the study first",
    ],
    "figures no-learners": [
        "no-learners/learners.csv cannot be read (No such file or",
        "run the study first",
    ],
    "figures empty-rows": ["empty-rows/rows.csv: expected the columns"],
    "figures other-columns": ["other-columns/rows.csv", "expected the columns"],
    "figures swapped": ["swapped/summary.csv: expected the columns"],
    "figures short-line": ["short-line/rows.csv, line 3 has 2 cells, expected 13"],
    "figures long-line": ["long-line/rows.csv, line 2 has 14 cells, expected 13"],
    "figures cut-line": ["cut-line/summary.csv, line 2 has 2 cells, expected 8"],
    "figures no-number": ["no-number/rows.csv, line 2: 'half' cannot be the value of value"],
    "figures float-seed": ["float-seed/rows.csv, line 2: '0.5' cannot be the value of seed"],
    "figures no-depth": ["no-depth/summary.csv, line 2: '' cannot be the value of depth"],
    "figures long-number": [
        "long-number/rows.csv, line 2",
        "'99999999999999999999999999999999999999999999999999999999999",
    ],
    "figures nul": ["nul/rows.csv, line 2: '0.\\x005' cannot be the value of value"],
    "figures latin": [
        "latin/learners.csv is not a table of this study ('utf-8'",
        "invalid continuation byte)",
    ],
    "figures pickle": [
        "pickle/metrics.csv is not a table of this study ('utf-8'",
        "invalid start byte)",
    ],
    "figures quote": ["quote/rows.csv is not a table of this study (field larger than field limit"],
    "figures times": ["times/times.csv, line 2: 'long' cannot be the value of seconds"],
    "figures accuracy": ["R[1,1] = 7.5 is outside [0, 1]: give fractions, not percent"],
    "figures inf": [
        "inf/rows.csv, line 2: 'inf' cannot be the value of value, expected 1e+15 or less",
        "write the tables again with `probe run`",
    ],
    "figures minus": [
        "minus/rows.csv, line 2: '-1' cannot be the value of step",
        "expected 0 or more: write the tables again",
    ],
    "figures far-step": ["line 2: '1000000000' cannot be the value of step, expected"],
    "figures far-place": [f"line 2: '{10**21}' cannot be the value of place, expected"],
    "figures far-depth": ["line 2: '100001' cannot be the value of depth, expected"],
    "figures few-cells": [
        "the accuracies of 'finetune' name 100000 tasks, but have 1 cells of R: write the tables"
    ],
    "figures minus-seed": ["line 2: '-3' cannot be the value of seed, expected"],
    "figures minus-depth": ["line 2: '-1' cannot be the value of depth, expected"],
    "figures no-seeds": ["line 2: '0' cannot be the value of seeds, expected"],
    "figures many-seeds": [f"line 2: '{10**30}' cannot be the value of seeds, expected"],
    "figures inf-mean": ["line 2: 'inf' cannot be the value of mean, expected"],
    "figures far-mean": ["line 2: '1e308' cannot be the value of mean, expected"],
    "figures inf-std": ["line 2: 'inf' cannot be the value of std, expected"],
    "figures minus-std": ["line 2: '-0.5' cannot be the value of std, expected"],
    "figures minus-time": ["line 2: '-inf' cannot be the value of seconds, expected"],
    "figures measure": [
        "line 2: 'acuracy' cannot be the value of measure, expected 'accuracy', 'pra' or 'f1'"
    ],
    "figures measures": [r"line 2: '\x1b[2J\u202e' cannot be the value of measure"],
    **{
        f"figures last-{last}": [
            f"the metric average_accuracy[{last}] needs a whole number from 1 to 100000 in brackets"
        ]
        for last in ("x", "0", "٣", "1_0", "99999999")
    },
    "figures session": ["the metric alpha_all[1.5] needs a whole number from 1 to 100000"],
    "figures no-place": [
        "a row of measure 'accuracy' (learner 'finetune', seed 0)",
        "write the tables again from the results",
    ],
    "figures folder-rows": [
        "folder-rows/rows.csv cannot be read (Is a directory): run the study first"
    ],
    **{
        f"status {name}": [f"{name}/study.json"]
        for name in (
            *("other", "list", "text", "empty", "null", "deep", "digits", "pickle"),
            "folder-study",
        )
    },
}
