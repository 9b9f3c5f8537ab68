"""Accuracy matrices from files that hold none."""

import numpy as np

from tests.bad_input.making import TRAP, gzipped, npy, npy_header, npz

# By name what is in the file, and what the sentence must say; of good ones nothing.
CASES = {
    "R.csv": ("0.9,0.1\n0.5,0.8\n",),
    "ragged.csv": (
        "0.9,0.1\n0.5\n",
        "is ragged: line 2 has 1 cells, line 1 has 2",
        "leave a cell that was not measured empty between its commas",
    ),
    "percent.csv": (
        "90,10\n50,80\n",
        "row 1, column 1: 90.0 is outside [0, 1]",
        "pass --percent if these are percentages",
    ),
    "words.csv": (
        "task 1,task 2\n0.9,0.1\n",
        "line 1, column 1: 'task 1' is not a number",
        "give numbers separated by commas, without a header, and an",
    ),
    "wide.csv": (
        "0.9,0.1,0.2\n0.5,0.8,0.1\n",
        "has shape (2, 3), which is not an accuracy matrix:",
        "tasks) or (T+1, T) with a first row before training",
    ),
    "three.csv": ("0.9,0.1,0\n0.5,0.8,0\n0.5,0.8,0\n",),
    "empty.csv": ("", "is empty: expected (T, T) or (T+1, T) accuracies"),
    "blank.csv": (" \n\n \n", "is empty: expected (T, T) or (T+1, T) accuracies"),
    "inf.csv": ("0.9,inf\n0.5,0.8\n", "row 1, column 2: inf is outside [0, 1]; correct this cell"),
    "negative.csv": (
        "0.9,0.1\n-0.5,0.8\n",
        "row 2, column 1: -0.5 is outside [0, 1]; correct this cell",
    ),
    "nan.csv": ("nan,nan\nnan,nan\n", "holds no number: fill in the cells that were measured"),
    "commas.csv": (",\n,\n", "holds no number: fill in the cells that were measured"),
    "semicolons.csv": (
        "0.9;0.1\n0.5;0.8\n",
        "line 1, column 1: '0.9;0.1' is not a number",
        "give numbers separated by commas, without a header, and an",
    ),
    "decimal.csv": (
        "0,9 0,1\n0,5 0,8\n",
        "line 1, column 2: '9 0' is not a number",
        "give numbers separated by commas, without a header, and an",
    ),
    "nul.csv": (
        "0.9,0.1\n0.5,\x00\n",
        "line 2, column 2: '\\x00' is not a number",
        "give numbers separated by commas, without a header, and an",
    ),
    "hex.csv": (
        "0x1,0.1\n0.5,0.8\n",
        "line 1, column 1: '0x1' is not a number",
        "give numbers separated by commas, without a header, and an",
    ),
    "underscore.csv": (
        "0.9,0.1\n0.5,1_0\n",
        "row 2, column 2: 10.0 is outside [0, 1]",
        "pass --percent if these are percentages",
    ),
    "long.csv": (
        "0.9,0.1\n0.5," + "8" * 100000 + "\n",
        "row 2, column 2: inf is outside [0, 1]; correct this cell",
    ),
    "utf16.csv": (
        "0.9,0.1\n0.5,0.8\n".encode("utf-16"),
        "is not UTF-8 text: save it as comma-separated UTF-8",
    ),
    "formula.csv": (
        "=1+1,0.1\n0.5,0.8\n",
        "line 1, column 1: '=1+1' is not a number",
        "give numbers separated by commas, without a header, and an",
    ),
    "gzip.csv": (
        gzipped(b"0.9,0.1\n0.5,0.8\n"),
        "is not UTF-8 text: save it as comma-separated UTF-8",
    ),
    "pickle.csv": (TRAP, "is not UTF-8 text: save it as comma-separated UTF-8"),
    "npy.csv": (npy(np.eye(2)), "is not UTF-8 text: save it as comma-separated UTF-8"),
    "folder.csv/x": ("", "cannot be read (Is a directory)", "give the path of a .csv or .npy file"),
    "R.npy": (npy(np.array([[0.9, 0.1], [0.5, 0.8]])),),
    "R.txt": ("0.9,0.1\n0.5,0.8\n", "an accuracy matrix is read from a file named .csv or .npy"),
    "R.npz": (npz(), "an accuracy matrix is read from a file named .csv or .npy"),
    "R.pkl": (TRAP, "an accuracy matrix is read from a file named .csv or .npy"),
    "text.npy": (
        "0.9,0.1",
        "is not a readable .npy file of numbers",
        "write it with numpy.save from an array of floats (pickled",
    ),
    "empty.npy": (
        b"",
        "is not a readable .npy file of numbers",
        "write it with numpy.save from an array of floats (pickled",
    ),
    "pickle.npy": (
        TRAP,
        "is not a readable .npy file of numbers",
        "write it with numpy.save from an array of floats (pickled",
    ),
    "objects.npy": (
        npy(np.array([[1, "a"]], dtype=object), objects=True),
        "is not a readable .npy file of numbers",
        "write it with numpy.save from an array of floats (pickled",
    ),
    "hostile.npy": (
        npy_header("(2, 2)", "'|O'", TRAP),
        "is not a readable .npy file of numbers",
        "write it with numpy.save from an array of floats (pickled",
    ),
    "archive.npy": (
        npz(),
        "is not a readable .npy file of numbers",
        "write it with numpy.save from an array of floats (pickled",
    ),
    "cut.npy": (
        npy(np.eye(2))[:-1],
        "is not a readable .npy file of numbers",
        "write it with numpy.save from an array of floats (pickled",
    ),
    "cut-header.npy": (
        npy(np.eye(2))[:30],
        "is not a readable .npy file of numbers",
        "write it with numpy.save from an array of floats (pickled",
    ),
    "huge.npy": (
        npy_header("(9000000000, 9000000000)", data=b"x" * 64),
        "is not a readable .npy file of numbers",
        "write it with numpy.save from an array of floats (pickled",
    ),
    "large.npy": (
        npy_header("(40000, 40000)", data=b"x" * 64),
        "is not a readable .npy file of numbers",
        "write it with numpy.save from an array of floats (pickled",
    ),
    "overflow.npy": (
        npy_header("(99999999999999999999, 2)", data=b"x" * 64),
        "is not a readable .npy file of numbers",
        "write it with numpy.save from an array of floats (pickled",
    ),
    "minus.npy": (
        npy_header("(-2, -2)", data=b"x" * 32),
        "is not a readable .npy file of numbers",
        "write it with numpy.save from an array of floats (pickled",
    ),
    "code.npy": (
        npy_header("(2, 2)", "__import__('os').open('sprung', 64)", data=b"x" * 32),
        "is not a readable .npy file of numbers",
        "write it with numpy.save from an array of floats (pickled",
    ),
    "version.npy": (
        b"\x93NUMPY\x09\x00" + npy(np.eye(2))[8:],
        "is not a readable .npy file of numbers",
        "write it with numpy.save from an array of floats (pickled",
    ),
    "long-header.npy": (
        npy_header("(" + "2, " * 9000 + ")", data=b"x" * 32),
        "is not a readable .npy file of numbers",
        "write it with numpy.save from an array of floats (pickled",
    ),
    "three.npy": (
        npy(np.zeros((2, 2, 2))),
        "has shape (2, 2, 2), which is not an accuracy",
        "tasks) or (T+1, T) with a first row before training",
    ),
    "vector.npy": (
        npy(np.zeros(4)),
        "has shape (4,), which is not an accuracy matrix:",
        "tasks) or (T+1, T) with a first row before training",
    ),
    "scalar.npy": (
        npy(np.float64(0.5)),
        "has shape (), which is not an accuracy matrix:",
        "tasks) or (T+1, T) with a first row before training",
    ),
    "none.npy": (npy(np.zeros((0, 0))), "is empty: expected (T, T) or (T+1, T) accuracies"),
    "complex.npy": (npy(np.eye(2) * 1j), "holds complex128 values, expected numbers: save floats"),
    "words.npy": (
        npy(np.array([["a", "b"], ["c", "d"]])),
        "holds <U1 values, expected numbers: save floats",
    ),
    "dates.npy": (
        npy(np.zeros((2, 2), "M8[s]")),
        "holds datetime64[s] values, expected numbers: save floats",
    ),
    "record.npy": (
        npy(np.zeros(2, [("a", "f8"), ("b", "f8")])),
        "holds [('a', '<f8'), ('b', '<f8')] values,",
        "save floats",
    ),
    "inf.npy": (
        npy(np.array([[0.5, np.inf], [0, 1]])),
        "row 1, column 2: inf is outside [0, 1]; correct this cell",
    ),
    "nan.npy": (
        npy(np.full((2, 2), np.nan)),
        "holds no number: fill in the cells that were measured",
    ),
    "bools.npy": (npy(np.eye(2, dtype=bool)), "holds bool values, expected numbers: save floats"),
    "percent.npy": (
        npy(np.array([[97.5, 0], [0, 1]])),
        "row 1, column 1: 97.5 is outside [0, 1]",
        "pass --percent if these are percentages",
    ),
    "negative.npy": (
        npy(np.array([[-1, 0], [0, 1]])),
        "row 1, column 1: -1.0 is outside [0, 1]; correct this cell",
    ),
}
FILES = {name: content for name, (content, *_) in CASES.items()}
MISTAKES = {
    **{
        f"metrics {name.partition('/')[0]}": [name.partition("/")[0], *said]
        for name, (_, *said) in CASES.items()
        if said
    },
    "metrics R.csv --reference percent.csv": [
        "percent.csv, row 1, column 1: 90.0 is outside [0, 1]",
        "pass --percent if these are percentages",
    ],
    "metrics R.csv --reference three.csv": [
        "R.csv has 2 tasks and the reference three.csv 3",
        "give the cumulative learner's matrix of the same tasks",
    ],
    "metrics R.csv --reference hostile.npy": [
        "hostile.npy is not a readable .npy file of numbers",
        "write it with numpy.save from an array of floats (pickled",
    ],
    "metrics R.csv --percent --reference inf.npy": [
        "inf.npy, row 1, column 2: inf is outside [0, 100]; correct this cell"
    ],
}
