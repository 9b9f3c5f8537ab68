"""Accuracy matrices from files that hold none."""

import numpy as np

from tests.bad_input.making import TRAP, gzipped, npy, npy_header, npz
from tests.bad_input.refused import grouped

GOOD = "0.9,0.1\n0.5,0.8\n"
LONG = npy_header(f"({'2, ' * 9000})", data=b"x" * 32)
CODE = npy_header("(2, 2)", "__import__('os').open('sprung', 64)", data=b"x" * 32)

CASES = {
    " has shape ...which is not an accuracy matrix:...or (T+1, T) with a first row before": {
        "wide.csv": "0.9,0.1,0.2\n0.5,0.8,0.1\n",
        "three.npy": npy(np.zeros((2, 2, 2))),
        "vector.npy": npy(np.zeros(4)),
        "scalar.npy": npy(np.float64(0.5)),
    },
    "is ragged: line 2 has 1 cells, line 1 has 2...leave a cell that was not measured empty": {
        "ragged.csv": "0.9,0.1\n0.5\n"
    },
    " is not a number...give numbers separated by commas, without a header, and an": {
        "words.csv": "task 1,task 2\n0.9,0.1\n",
        "semicolons.csv": "0.9;0.1\n0.5;0.8\n",
        "decimal.csv": "0,9 0,1\n0,5 0,8\n",
        "nul.csv": "0.9,0.1\n0.5,\x00\n",
        "hex.csv": "0x1,0.1\n0.5,0.8\n",
        "formula.csv": "=1+1,0.1\n0.5,0.8\n",
    },
    "is empty: expected (T, T) or (T+1, T) accuracies": {
        "empty.csv": "",
        "blank.csv": " \n\n \n",
        "none.npy": npy(np.zeros((0, 0))),
    },
    "holds no number: fill in the cells that were measured": {
        "nan.csv": "nan,nan\nnan,nan\n",
        "commas.csv": ",\n,\n",
        "nan.npy": npy(np.full((2, 2), np.nan)),
    },
    "row 1, column 1: ...is outside [0, 1]...pass --percent if these are percentages": {
        "percent.csv": "90,10\n50,80\n",
        "percent.npy": npy(np.array([[97.5, 0], [0, 1]])),
    },
    " is outside [0, 1]; correct this cell": {
        "inf.csv": "0.9,inf\n0.5,0.8\n",
        "negative.csv": "0.9,0.1\n-0.5,0.8\n",
        "long.csv": f"0.9,0.1\n0.5,{'8' * 100000}\n",
        "inf.npy": npy(np.array([[0.5, np.inf], [0, 1]])),
        "negative.npy": npy(np.array([[-1, 0], [0, 1]])),
    },
    "is not UTF-8 text: save it as comma-separated UTF-8": {
        "utf16.csv": GOOD.encode("utf-16"),
        "gzip.csv": gzipped(GOOD.encode()),
        "pickle.csv": TRAP,
        "npy.csv": npy(np.eye(2)),
    },
    "cannot be read (Is a directory)...give the path of a .csv or .npy file": {"folder.csv/x": ""},
    "an accuracy matrix is read from a file named .csv or .npy": {
        "R.txt": GOOD,
        "R.npz": npz(),
        "R.pkl": TRAP,
    },
    "is not a readable .npy file of numbers...write it with numpy.save from an array of floats": {
        "text.npy": "0.9,0.1",
        "empty.npy": b"",
        "pickle.npy": TRAP,
        "objects.npy": npy(np.array([[1, "a"]], dtype=object), objects=True),
        "hostile.npy": npy_header("(2, 2)", "'|O'", TRAP),
        "archive.npy": npz(),
        "cut.npy": npy(np.eye(2))[:-1],
        "cut-header.npy": npy(np.eye(2))[:30],
        "large.npy": npy_header("(40000, 40000)", data=b"x" * 64),
        "overflow.npy": npy_header("(99999999999999999999, 2)", data=b"x" * 64),
        "minus.npy": npy_header("(-2, -2)", data=b"x" * 32),
        "code.npy": CODE,
        "version.npy": b"\x93NUMPY\x09\x00" + npy(np.eye(2))[8:],
        "long-header.npy": LONG,
    },
    "values, expected numbers: save floats": {
        "complex.npy": npy(np.eye(2) * 1j),
        "words.npy": npy(np.array([["a", "b"], ["c", "d"]])),
        "dates.npy": npy(np.zeros((2, 2), "M8[s]")),
        "bools.npy": npy(np.eye(2, dtype=bool)),
    },
}
FILES = {name: content for files in CASES.values() for name, content in files.items()}
FILES |= {"R.csv": GOOD, "R.npy": npy(np.array([[0.9, 0.1], [0.5, 0.8]]))}
FILES |= {"three.csv": "0.9,0.1,0\n0.5,0.8,0\n0.5,0.8,0\n"}
MISTAKES = {
    **grouped("metrics {}", CASES),
    "metrics R.csv --reference percent.csv": "percent.csv, row 1, column 1: 90.0 is outside [0, 1]",
    "metrics R.csv --reference three.csv": "R.csv has 2 tasks and the reference three.csv 3"
    "...give the cumulative learner's matrix of the same tasks",
    "metrics R.csv --reference hostile.npy": "hostile.npy is not a readable .npy file of numbers",
    "metrics R.csv --percent --reference inf.npy": "inf is outside [0, 100]; correct this cell",
}
