"""No file is run as code: ruff refuses what of Python could, and files are loaded as data only.

That hostile files are refused and their code does not run is shown in `test_bad_input`.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

REFUSED = """\
eval(text)
exec(text)
import pickle
from pickle import loads
import joblib.numpy_pickle
import marshal, shelve
from yaml import safe_load
from importlib import import_module
import importlib as i; i.import_module(text)
import importlib.util as u; u.spec_from_file_location(text)
import runpy
import torch as t; t.jit.load(text)
from torch.jit import load
import torch.hub; torch.hub.load(text)
from torch.hub import load_state_dict_from_url
import os as o; o.system(text)
from os import popen
import subprocess
from subprocess import run as r
import os; os.execvp(text, [text])
"""

# What loads a file, and how it is told to load no more than numbers.
LOADERS = {
    r"\btorch\.load\(": "weights_only=True",
    r"\b(?:np|numpy)\.load\(": "allow_pickle=False",
    r"\bopen_memmap\(": 'mode="r"',
}


def test_ruff_refuses_what_could_run_the_code_of_a_file():
    call = (sys.executable, "-m", "ruff", "check", "--output-format=json")
    found = subprocess.run(
        (*call, "--stdin-filename=probe/hostile.py", "-"),
        cwd=ROOT,
        input=REFUSED,
        capture_output=True,
        text=True,
        check=False,
    )
    faults = [
        (fault["location"]["row"], fault["code"]) for fault in json.loads(found.stdout)
    ]
    lines = {line for line, code in faults if code.startswith(("S", "TID"))}
    assert lines == set(range(1, len(REFUSED.splitlines()) + 1))


def test_every_loader_is_told_to_load_data_only():
    loaders = dict.fromkeys(LOADERS, 0)
    paths = []
    for room in ("probe", "scenarios", "figures"):
        paths += (ROOT / room).rglob("*.py")
    for path in paths:
        source = path.read_text("utf-8")
        for loader, told in LOADERS.items():
            calls = [source[at.end() :][:120] for at in re.finditer(loader, source)]
            assert all(told in call for call in calls), path
            loaders[loader] += len(calls)
    assert all(loaders.values())
