"""Accuracy matrices from files that hold none."""

import numpy as np

from tests.bad_input.making import TRAP, npy, npy_header
from tests.bad_input.refused import grouped

CODE = npy_header("(2, 2)", "__import__('os').open('sprung', 64)", data=b"x" * 32)

CASES: dict[str, dict[str, str | bytes]] = {
    "square (T, T) matrix, got shape ()": {"scalar.npy": npy(np.float64(0.5))},
    "square (T, T) matrix, got shape (1, 2)": {"flat.csv": "0.9,0.1\n"},
    "columns changed from 2 to 1 at row 2...empty cell": {"ragged.csv": "0.9,0.1\n0.5\n"},
    "string 'x' to float64...by commas": {"text.csv": "0.9,x\n0.5,0.8\n"},
    "to float64 at row 1": {"nul.csv": "0.9,0.1\n0.5,\x00\n"},
    "the file is empty": {"blank.csv": " \n\n \n"},
    "without --percent: R[1,1] = 90.0 is outside [0, 1]": {"percent.csv": "90,10\n50,80\n"},
    "R[1,2] = inf is outside [0, 1]": {"inf.csv": "0.9,inf\n0.5,0.8\n"},
    "cannot be read as numbers (UnicodeDecodeError": {"pickle.csv": TRAP},
    "(Is a directory)...give the path of a .csv or .npy": {"folder.csv/x": ""},
    "a file named .csv or .npy": {"R.pkl": TRAP},
    "cannot be read as numbers...numpy.save": {
        "objects.npy": npy(np.array([[1, "a"]], dtype=object), objects=True),
        "hostile.npy": npy_header("(2, 2)", "'|O'", TRAP),
        "large.npy": npy_header("(40000, 40000)", data=b"x" * 64),
        "code.npy": CODE,
        "complex.npy": npy(np.eye(2) * 1j),
    },
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
    "metrics R.csv --percent --reference inf.csv": "in percent: R[1,2] = inf is outside",
    "metrics R.csv --test-sizes 10": "got 1 test sizes, expected one for each of 2 tasks",
    "metrics R.csv --test-sizes 10,x": "--test-sizes expects numbers as 10,20,...got '10,x'",
    "metrics R.csv --test-sizes 1,0": "test sizes must be above 0, got [1, 0]",
    "metrics R.csv --from pycill": "mean 'pycil'",
    "metrics R.csv --ideal nan": "the ideal accuracy...(0, 1], got nan",
}
