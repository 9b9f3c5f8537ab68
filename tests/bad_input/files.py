"""Files that are damaged, hostile or no such file: data, features, matrices, weights, tables."""

import pickle

import numpy as np
import torch

from tests.bad_input.making import (
    FEATURES,
    TRAP,
    Trap,
    npy,
    npy_header,
    npz,
    picture,
    saved,
)

X = FEATURES["x_train"]
Y = FEATURES["y_train"]
CODE = "__import__('os').open('sprung', 64)"
ROWS = (
    "scenario,network,learner,order,seed,tasks_seen,head,feature,depth,metric,task_position,task,"
    "value,readout\ndigits,mlp,finetune,0,0,1,single,,,accuracy,1,0-1,0.5,\n"
)
TABLES = {
    "measurements": ROWS,
    "summary": "learner,feature,depth,metric,task_position,mean,std,seeds\n"
    "ft,output,1,pra,,0.5,,1\n",
    "metrics": "learner,paper,metric,head,mean,std,seeds,feature,readout\n"
    "finetune,gem,acc,single,0.5,,1,,\n",
    "learners": "learner,kind,per_class,total,sampling\nfinetune,finetune,,,\n",
    "times": "learner,order,seed,tasks_seen,seconds\nfinetune,0,0,1,2.5\n",
}
# By command line: the file, its content, and what the sentence names beside the file.
METRICS = {
    "text.csv": ("0.9,x\n0.5,0.8\n", "'x'"),
    "pickle.csv": (TRAP, "UnicodeDecodeError"),
    "hostile.npy": (npy_header("(2, 2)", "'|O'", TRAP), ""),
    "code.npy": (npy_header("(2, 2)", CODE, data=b"x" * 32), ""),
}
REDUNDANCY = {
    "pickle.npz": (TRAP, ""),
    "cut.npz": (npz()[:-30], ""),
    "deflated.npz": (
        npz({"x_train": npy_header("(2, 65000000)", data=bytes(2**20))}),
        "",
    ),
    "hostile.npz": (
        npz({"x_train": npy_header("(4,)", "'|O'", TRAP)}),
        "Object arrays",
    ),
    "lacking.npz": (npz({"x_train": None}), "x_train"),
    "bomb.npz": (
        npz({"x_train": npy_header("(100000, 100000)", data=bytes(1000))}),
        "memory",
    ),
    "large.npz": (npz({"x_test": X.astype(float) * 1e300}), "example 0"),
}
WEIGHTS = {
    "trap-torch.pt": (saved(Trap()), ""),
    "trap-legacy.pt": (
        pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + TRAP + TRAP,
        "",
    ),
    "keys.pt": (saved({"w": torch.ones(2, 2)}), "torchvision"),
}
CHANGED = {
    "no-summary": ("summary", None, "summary.csv"),
    "swapped": ("summary", TABLES["metrics"], "summary.csv"),
    "escape": (
        "summary",
        TABLES["summary"].replace("pra", "\x1b[2J\u202e"),
        r"\x1b[2J\u202e",
    ),
    "hostile": ("metrics", TRAP, "metrics.csv"),
    "accuracy": ("measurements", ROWS.replace("0.5,\n", "7.5,\n"), "7.5"),
}
PICTURES = {"ok": picture(), "cut": picture(64)[:-2000], "trap": TRAP}
READ = METRICS | REDUNDANCY | WEIGHTS
SHUFFLENET = "features {} --network shufflenet_v2_x0_5 --out out.npz --weights {}"

FILES = {
    **{name: content for name, (content, _) in READ.items()},
    **{f"one-class/{half}/a/1.png": picture() for half in ("train", "test")},
    "hub/checkpoints/shufflenetv2_x0.5-f707e7126e.pth": TRAP,
    "other/study.json": '{"name": "other"}',
    "deep/study.json": "[" * 100000,
    "hostile-study/study.json": TRAP,
    "older/study.json": '{"format": 8}',
    "R.csv": "0.9,0.1\n0.5,0.8\n",
    "R.npy": npy(np.array([[0.9, 0.1], [0.5, 0.8]])),
    "three.csv": "0.9,0.1,0\n0.5,0.8,0\n0.5,0.8,0\n",
    "good.npz": npz(),
}
for folder, (changed, content, _) in CHANGED.items():
    for table, text in {**TABLES, changed: content}.items():
        if text is not None:
            FILES[f"{folder}/{table}.csv"] = text
for name, content in PICTURES.items():
    FILES[f"{name}/train/a/1.png"] = content
    for rest in ("train/b", "test/a", "test/b"):
        FILES[f"{name}/{rest}/1.png"] = picture()
MISTAKES = {
    **{f"metrics {name}": (name, said) for name, (_, said) in METRICS.items()},
    **{f"redundancy {name}": (name, said) for name, (_, said) in REDUNDANCY.items()},
    **{
        SHUFFLENET.format("ok", name): (name, said)
        for name, (_, said) in WEIGHTS.items()
    },
    **{f"figures {folder}": (said,) for folder, (_, _, said) in CHANGED.items()},
    SHUFFLENET.format("ok", "default"): ("shufflenet_v2_x0_5",),
    **{
        SHUFFLENET.format(x, "random"): (f"{x}/train/a/1.png",) for x in ("cut", "trap")
    },
    SHUFFLENET.format("one-class", "random"): ("one-class",),
    "features full --network resnet --out a.npz --weights random": ("'resnet'",),
    "metrics R.csv --reference three.csv": ("R.csv", "three.csv"),
    "metrics R.csv --test-sizes 10,x": ("'10,x'",),
    "redundancy mnist": ("mnist", "--data"),
    "figures absent": ("absent", "measurements.csv"),
    **{f"status {x}": (f"{x}/study.json",) for x in ("other", "deep", "hostile-study")},
    "status older": ("older",),
    "run tiny.toml --out older": ("older", "--out"),
}
