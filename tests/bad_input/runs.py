"""Run directories whose tables are damaged."""

from tests.bad_input.making import TRAP

ROWS = (
    "scenario,network,learner,order,seed,step,head,feature,depth,measure,place,task,value\n"
    "digits,mlp,finetune,0,0,1,single,,,accuracy,1,0-1,0.5\n"
)
SUMMARY = "learner,feature,depth,measure,place,mean,std,seeds\nfinetune,output,1,pra,,0.5,,1\n"
METRICS = "learner,paper,metric,head,mean,std,seeds\nfinetune,gem,acc,single,0.5,,1\n"
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
    "figures inf": ["R[1,1] = inf is outside [0, 1]: give fractions, not percent"],
    "figures minus": [
        "a row of measure 'accuracy' (learner 'finetune', seed 0)",
        "write the tables again from the results",
    ],
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
