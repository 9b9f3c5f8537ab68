"""Accuracy matrices from files that hold none."""

import numpy as np

from tests.bad_input.making import TRAP, npy, npy_header
from tests.bad_input.refused import grouped

CODE = npy_header("(2, 2)", "__import__('os').open('sprung', 64)", data=b"x" * 32)

CASES: dict[str, dict[str, str | bytes]] = {
    "shape ...not an accuracy matrix:...(T+1, T)": {"scalar.npy": npy(np.float64(0.5))},
    "ragged: line 2 has 1 cells, line 1 has 2...empty": {"ragged.csv": "0.9,0.1\n0.5\n"},
    " is not a number...separated by commas": {"nul.csv": "0.9,0.1\n0.5,\x00\n"},
    "is empty: expected (T, T) or (T+1, T)": {"blank.csv": " \n\n \n"},
    "holds no number: fill in": {"commas.csv": ",\n,\n"},
    "row 1, column 1: ...[0, 1]...--percent": {"percent.csv": "90,10\n50,80\n"},
    " is outside [0, 1]; correct": {"inf.csv": "0.9,inf\n0.5,0.8\n"},
    "is not UTF-8 text": {"pickle.csv": TRAP},
    "(Is a directory)...give the path of a .csv or .npy": {"folder.csv/x": ""},
    "a file named .csv or .npy": {"R.pkl": TRAP},
    "is not a readable .npy file...numpy.save": {
        "objects.npy": npy(np.array([[1, "a"]], dtype=object), objects=True),
        "hostile.npy": npy_header("(2, 2)", "'|O'", TRAP),
        "large.npy": npy_header("(40000, 40000)", data=b"x" * 64),
        "code.npy": CODE,
    },
    "values, expected numbers: save floats": {"complex.npy": npy(np.eye(2) * 1j)},
}
FILES = {name: content for files in CASES.values() for name, content in files.items()} | {
    "R.csv": "0.9,0.1\n0.5,0.8\n",
    "R.npy": npy(np.array([[0.9, 0.1], [0.5, 0.8]])),
    "three.csv": "0.9,0.1,0\n0.5,0.8,0\n0.5,0.8,0\n",
}
MISTAKES = {
    **grouped("metrics {}", CASES),
    "metrics absent.csv": "absent.csv cannot be read",
    "metrics R.csv --reference three.csv": "R.csv has 2 tasks...three.csv 3...cumulative",
    "metrics R.csv --percent --reference inf.csv": "inf is outside [0, 100]; correct",
    "metrics R.csv --test-sizes 10": "got 1 test sizes, expected one for each of 2 tasks",
    "metrics R.csv --test-sizes 10,x": "--test-sizes expects whole numbers, as 10,20,...got '10,x'",
    f"metrics R.csv --test-sizes 1,{10**400}": "test sizes must be above 0...that of task 2",
    "metrics R.csv --from pycill": "mean 'pycil'",
    "metrics R.csv --ideal nan": "the ideal accuracy...(0, 1], got nan",
}
