"""Feature files that are none; `redundancy` only reads them."""

import io
import zipfile

import numpy as np

from tests.bad_input.making import FEATURES, TRAP, npy, npy_header, npz
from tests.bad_input.refused import each, grouped


def bomb():
    """Return an archive of a header that asks for 80 GB, and nothing behind it."""
    return npz({"x_train": npy_header("(100000, 100000)", data=b"\0" * 1000)})


def zipped(**files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def encrypted():
    content = bytearray(npz())
    for sign, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(sign) + offset] |= 1
    return bytes(content)


X, Y = FEATURES["x_train"], FEATURES["y_train"]
HOSTILE = npy_header("(4,)", "'|O'", TRAP)
CODE = npy_header("(4, 4)", "__import__('os').open('sprung', 64)")

CASES = {
    " is no whole file of numpy's .npz format...write it again with numpy.savez": {
        "empty.npz": b"",
        "text.npz": "x_train,y_train\n",
        "pickle.npz": TRAP,
        "cut.npz": npz()[:-30],
        "half.npz": npz()[: len(npz()) // 2],
        "encrypted.npz": encrypted(),
        "code.npz": npz({"x_train": CODE}),
        "deflated.npz": npz({"x_train": npy_header("(2, 65000000)", data=bytes(2**20))}),
    },
    " is no array: write it again with numpy.savez": {
        "no-arrays.npz": zipped(x_train="1", y_train="2", x_test="3", y_test="4"),
        "pickle-member.npz": npz({"x_train": TRAP}),
    },
    " holds Python objects, which are...write numbers, or for names an array of strings": {
        "hostile-x.npz": npz({"x_train": HOSTILE}),
        "hostile-y.npz": npz({"y_test": HOSTILE}),
        "hostile-names.npz": npz({"class_names": HOSTILE}),
        "objects.npz": npz({"x_train": X.astype(object)}),
    },
    " lacks x_train...write it again with x_train, y_train, x_test, y_test": {
        "nothing.npz": zipped(),
        "slip.npz": zipped(**{"../x_train.npy": npy(X), "/y_train.npy": npy(Y)}),
        "lacks-x.npz": npz({"x_train": None}),
    },
    " holds a single array: write several with numpy.savez": {"npy.npz": npy(X)},
    " needs more memory than there is: write fewer examples": {"bomb.npz": bomb()},
    " has 3 labels for the 4 examples of...give one for each": {
        "lengths.npz": npz({"y_train": Y[:3]})
    },
    " an example of x_train has shape (4,) and...give both the same features": {
        "features.npz": npz({"x_test": X[:, :3]})
    },
    ", expected (N, ...put one example in each row": {
        "flat.npz": npz({"x_train": np.ones(4)}),
        "no-rows.npz": npz({"x_test": X[:0], "y_test": Y[:0]}),
        "no-columns.npz": npz({"x_train": X[:, :0], "x_test": X[:, :0]}),
    },
    " has NaN, Inf or a number too large for...clean the data first": {
        "nan.npz": npz({"x_train": X * np.nan}),
        "inf.npz": npz({"x_test": np.where(X, np.inf, X)}),
        "large.npz": npz({"x_test": X.astype(float) * 1e300}),
    },
    ", expected real numbers: write it as float32": {
        "complex.npz": npz({"x_train": X * 1j}),
        "texts.npz": npz({"x_train": X.astype(str)}),
        "dates.npz": npz({"x_train": X.astype("M8[s]")}),
        "record.npz": npz({"x_train": np.zeros((4, 1), [("a", "f4")])}),
    },
    ", expected...write class numbers from 0, as int64": {
        "scalar.npz": npz({"y_train": np.int64(3)}),
        "float-labels.npz": npz({"y_train": Y.astype(float)}),
        "bool-labels.npz": npz({"y_train": Y > 1}),
        "text-labels.npz": npz({"y_test": Y.astype(str)}),
        "one-hot.npz": npz({"y_train": np.eye(4, dtype=int)}),
    },
    " has the label -1: number the classes from 0": {"negative.npz": npz({"y_test": Y - 1})},
    " has no example of class ...number the classes without gaps, and give each of them": {
        "from-one.npz": npz({"y_train": Y + 1, "y_test": Y + 1}),
        "gap.npz": npz({"y_train": Y * 2, "y_test": Y * 2}),
        "wild.npz": npz({"y_train": np.array([0, 1, 2, 2**62])}),
        "not-tested.npz": npz({"y_test": Y // 2}),
    },
    " has the label 9223372036854775809, too...number the classes from 0 without gaps": {
        "beyond.npz": npz({"y_test": np.array([0, 1, 2, 2**63 + 1], np.uint64)})
    },
    " has the label 3, but there are 2...number the classes 0 to 1, or name every class": {
        "names-few.npz": npz({"class_names": np.array(["a", "b"])})
    },
    " of shape (4,),...name each class once": {
        "names-alike.npz": npz({"class_names": np.array(["a", "b", "c", "a"])}),
        "names-numbers.npz": npz({"class_names": np.arange(4)}),
    },
    " has a single class, of which nothing can be...give two or more": {
        "one-class.npz": npz({"y_train": Y * 0, "y_test": Y * 0})
    },
    "there is no feature file...give its path, or point --data at its folder": {"folder.npz/x": ""},
}
FILES = {name: content for files in CASES.values() for name, content in files.items()}
FILES |= {"good.npz": npz()}
MISTAKES = {
    **grouped("redundancy {}", CASES),
    **each(
        "redundancy {}",
        "there is no feature file...give its path, or point --data at its folder",
        *("absent.npz", "~nosuch/good.npz", ".npz"),
    ),
    "redundancy good.npz ./good.npz": "data sets are called alike (good, good): name each once",
    "redundancy good": "unknown data set 'good': (known...breast_cancer, cifar10, cifar100,",
    "run kemker-features --sets good.npz,nan.npz": "x_train of nan.npz has NaN, Inf or a number",
}
