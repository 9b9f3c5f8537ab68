"""Feature files that are none; `redundancy` only reads them."""

import numpy as np

from tests.bad_input.making import FEATURES, TRAP, npy, npy_header, npz
from tests.bad_input.refused import grouped

X, Y = FEATURES["x_train"], FEATURES["y_train"]
VAST = npy_header("(100000, 100000)", data=b"\0" * 1000)  # asks for 80 GB, and has nothing
HOSTILE = npy_header("(4,)", "'|O'", TRAP)
CODE = npy_header("(4, 4)", "__import__('os').open('sprung', 64)")

CASES = {
    " is not a complete .npz file...numpy.savez": {
        "pickle.npz": TRAP,
        "cut.npz": npz()[:-30],
        "code.npz": npz({"x_train": CODE}),
        "deflated.npz": npz({"x_train": npy_header("(2, 65000000)", data=bytes(2**20))}),
    },
    " (ValueError: Object arrays cannot be loaded": {"hostile.npz": npz({"x_train": HOSTILE})},
    " lacks x_train...x_train, y_train, x_test, y_test": {
        "lacking.npz": npz({"x_train": None}),
        "npy.npz": npy(X),
    },
    " exceeds the available memory": {"bomb.npz": npz({"x_train": VAST})},
    "one length, got x float32 (4, 4), y int64 (3,)": {"lengths.npz": npz({"y_train": Y[:3]})},
    "example of train is float32 (4,), of test float32 (3,)": {
        "features.npz": npz({"x_test": X[:, :3]})
    },
    ", expected real numbers (N, ...row": {
        "flat.npz": npz({"x_train": np.ones(4)}),
        "dates.npz": npz({"x_train": X.astype("M8[s]")}),
        "pickle-member.npz": npz({"x_train": TRAP}),
    },
    " has NaN or Inf in example 0: clean": {
        "large.npz": npz({"x_test": X.astype(float) * 1e300}),
        "nan.npz": npz({"x_train": X * np.nan}),
    },
    "labels must be an int64 vector (N,)": {"one-hot.npz": npz({"y_train": np.eye(4, dtype=int)})},
    "y_train is float64, expected class numbers": {"floats.npz": npz({"y_train": Y / 2})},
    "y_test has 4 classes from -1, expected 0 to 3": {"negative.npz": npz({"y_test": Y - 1})},
    # A wild label must not fill the memory.
    "y_train has 4 classes from 0, expected": {
        "gap.npz": npz({"y_train": np.array([0, 1, 2, 2**63 - 1])})
    },
    "y_test has 4 classes from -9223372036854775807": {
        "beyond.npz": npz({"y_test": np.array([0, 1, 2, 2**63 + 1], np.uint64)})
    },
    "y_train has 1 classes from 0, expected 0 to 1": {
        "one-class.npz": npz({"y_train": Y * 0, "y_test": Y * 0})
    },
    "there is no feature file": {"folder.npz/x": ""},
}
FILES = {name: content for files in CASES.values() for name, content in files.items()}
FILES |= {"good.npz": npz()}
MISTAKES = {
    **grouped("redundancy {}", CASES),
    "redundancy ~nosuch/good.npz": "there is no feature file...~nosuch/good.npz...--data",
    "redundancy good.npz ./good.npz": "(good, good): name each once",
    "redundancy good.npz --bins 1": "2 to 256 bins, not 1",
    "redundancy good.npz --bins 4 --out R.csv": "cannot write R.csv (...choose another folder",
}
