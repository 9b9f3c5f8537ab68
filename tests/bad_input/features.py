"""Feature files that are none; `redundancy` only reads them."""

import io
import zipfile

import numpy as np

from tests.bad_input.making import FEATURES, TRAP, npy, npy_header, npz


def bomb():
    """Return an archive of a header that asks for 80 GB, and nothing behind it."""
    return npz({"x_train": npy_header("(100000, 100000)", data=b"\0" * 1000)})


def deflated():
    """Return an archive of 1 MB whose x_train unpacks to 1 GB of zeros."""
    return npz({"x_train": npy_header("(2, 65000000)", "'<f8'", bytes(2**20))})


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
FILES = {
    "good.npz": npz(),
    "empty.npz": b"",
    "text.npz": "x_train,y_train\n",
    "pickle.npz": TRAP,
    "npy.npz": npy(X),
    "cut.npz": npz()[:-30],
    "half.npz": npz()[: len(npz()) // 2],
    "nothing.npz": zipped(),
    "no-arrays.npz": zipped(x_train="1", y_train="2", x_test="3", y_test="4"),
    "slip.npz": zipped(**{"../x_train.npy": npy(X), "/y_train.npy": npy(Y)}),
    "encrypted.npz": encrypted(),
    "bomb.npz": bomb(),
    "deflated.npz": deflated(),
    "folder.npz/x": "",
    "hostile-x.npz": npz({"x_train": HOSTILE}),
    "hostile-y.npz": npz({"y_test": HOSTILE}),
    "hostile-names.npz": npz({"class_names": HOSTILE}),
    "pickle-member.npz": npz({"x_train": TRAP}),
    "code.npz": npz({"x_train": npy_header("(4, 4)", "__import__('os').open('sprung', 64)")}),
    "objects.npz": npz({"x_train": X.astype(object)}),
    "lacks-x.npz": npz({"x_train": None}),
    "lacks-test.npz": npz({"x_test": None, "y_test": None}),
    "lengths.npz": npz({"y_train": Y[:3]}),
    "features.npz": npz({"x_test": X[:, :3]}),
    "flat.npz": npz({"x_train": np.ones(4)}),
    "scalar.npz": npz({"y_train": np.int64(3)}),
    "no-rows.npz": npz({"x_test": X[:0], "y_test": Y[:0]}),
    "no-columns.npz": npz({"x_train": X[:, :0], "x_test": X[:, :0]}),
    "nan.npz": npz({"x_train": X * np.nan}),
    "inf.npz": npz({"x_test": np.where(X, np.inf, X)}),
    "large.npz": npz({"x_test": X.astype(float) * 1e300}),
    "complex.npz": npz({"x_train": X * 1j}),
    "texts.npz": npz({"x_train": X.astype(str)}),
    "dates.npz": npz({"x_train": X.astype("M8[s]")}),
    "record.npz": npz({"x_train": np.zeros((4, 1), [("a", "f4")])}),
    "float-labels.npz": npz({"y_train": Y.astype(float)}),
    "bool-labels.npz": npz({"y_train": Y > 1}),
    "text-labels.npz": npz({"y_test": Y.astype(str)}),
    "one-hot.npz": npz({"y_train": np.eye(4, dtype=int)}),
    "negative.npz": npz({"y_test": Y - 1}),
    "from-one.npz": npz({"y_train": Y + 1, "y_test": Y + 1}),
    "gap.npz": npz({"y_train": Y * 2, "y_test": Y * 2}),
    "wild.npz": npz({"y_train": np.array([0, 1, 2, 2**62])}),
    "beyond.npz": npz({"y_test": np.array([0, 1, 2, 2**63 + 1], np.uint64)}),
    "not-tested.npz": npz({"y_test": Y // 2}),
    "names-few.npz": npz({"class_names": np.array(["a", "b"])}),
    "names-alike.npz": npz({"class_names": np.array(["a", "b", "c", "a"])}),
    "names-numbers.npz": npz({"class_names": np.arange(4)}),
    "names-bytes.npz": npz({"class_names": np.array([b"a", b"b", b"c", b"d"])}),
    "one-class.npz": npz({"y_train": Y * 0, "y_test": Y * 0}),
}
MISTAKES = {
    "redundancy empty.npz": [
        "empty.npz is no whole file of numpy's .npz format",
        "write it again with numpy.savez",
    ],
    "redundancy text.npz": [
        "text.npz is no whole file of numpy's .npz format",
        "write it again with numpy.savez",
    ],
    "redundancy pickle.npz": [
        "pickle.npz is no whole file of numpy's .npz format",
        "write it again with numpy.savez",
    ],
    "redundancy npy.npz": ["npy.npz holds a single array: write several with numpy.savez"],
    "redundancy cut.npz": [
        "cut.npz is no whole file of numpy's .npz format",
        "write it again with numpy.savez",
    ],
    "redundancy half.npz": [
        "half.npz is no whole file of numpy's .npz format",
        "write it again with numpy.savez",
    ],
    "redundancy nothing.npz": [
        "nothing.npz lacks x_train, y_train, x_test, y_test (it",
        "write it again with x_train, y_train, x_test, y_test",
    ],
    "redundancy no-arrays.npz": [
        "x_train of no-arrays.npz is no array: write it again with numpy.savez"
    ],
    "redundancy slip.npz": [
        "slip.npz lacks x_train, y_train, x_test, y_test (it holds",
        "write it again with x_train, y_train, x_test, y_test",
    ],
    "redundancy encrypted.npz": [
        "encrypted.npz is no whole file of numpy's .npz format",
        "write it again with numpy.savez",
    ],
    "redundancy bomb.npz": ["bomb.npz needs more memory than there is: write fewer examples"],
    "redundancy deflated.npz": [
        "deflated.npz is no whole file of numpy's .npz format",
        "write it again with numpy.savez",
    ],
    "redundancy folder.npz": [
        "there is no feature file",
        "give its path, or point --data at its folder",
    ],
    "redundancy hostile-x.npz": [
        "x_train of hostile-x.npz holds Python objects, which are",
        "write numbers, or for names an array of strings",
    ],
    "redundancy hostile-y.npz": [
        "y_test of hostile-y.npz holds Python objects, which are not",
        "write numbers, or for names an array of strings",
    ],
    "redundancy hostile-names.npz": [
        "class_names of hostile-names.npz holds Python objects,",
        "write numbers, or for names an array of strings",
    ],
    "redundancy pickle-member.npz": [
        "x_train of pickle-member.npz is no array: write it again with numpy.savez"
    ],
    "redundancy code.npz": [
        "code.npz is no whole file of numpy's .npz format",
        "write it again with numpy.savez",
    ],
    "redundancy objects.npz": [
        "x_train of objects.npz holds Python objects, which are not",
        "write numbers, or for names an array of strings",
    ],
    "redundancy lacks-x.npz": [
        "lacks-x.npz lacks x_train (it holds y_train, x_test, y_test)",
        "write it again with x_train, y_train, x_test, y_test",
    ],
    "redundancy lacks-test.npz": [
        "lacks-test.npz lacks x_test, y_test (it holds x_train,",
        "write it again with x_train, y_train, x_test, y_test",
    ],
    "redundancy lengths.npz": [
        "y_train of lengths.npz has 3 labels for the 4 examples of",
        "give one for each",
    ],
    "redundancy features.npz": [
        "in features.npz an example of x_train has shape (4,) and",
        "give both the same features",
    ],
    "redundancy flat.npz": [
        "x_train of flat.npz has shape (4,), expected (N, ...) of 1",
        "put one example in each row",
    ],
    "redundancy scalar.npz": [
        "y_train of scalar.npz is int64 of shape (), expected whole",
        "write class numbers from 0, as int64",
    ],
    "redundancy no-rows.npz": [
        "x_test of no-rows.npz has shape (0, 4), expected (N, ...)",
        "put one example in each row",
    ],
    "redundancy no-columns.npz": [
        "x_train of no-columns.npz has shape (4, 0), expected (N,",
        "put one example in each row",
    ],
    "redundancy nan.npz": [
        "x_train of nan.npz has NaN, Inf or a number too large for",
        "clean the data first",
    ],
    "redundancy inf.npz": [
        "x_test of inf.npz has NaN, Inf or a number too large for",
        "clean the data first",
    ],
    "redundancy large.npz": [
        "x_test of large.npz has NaN, Inf or a number too large for",
        "clean the data first",
    ],
    "redundancy complex.npz": [
        "x_train of complex.npz is complex64, expected real numbers",
        "write it as float32",
    ],
    "redundancy texts.npz": [
        "x_train of texts.npz is <U32, expected real numbers: write it as float32"
    ],
    "redundancy dates.npz": [
        "x_train of dates.npz is datetime64[s], expected real numbers",
        "write it as float32",
    ],
    "redundancy record.npz": [
        "x_train of record.npz is [('a', '<f4')], expected real",
        "write it as float32",
    ],
    "redundancy float-labels.npz": [
        "y_train of float-labels.npz is float64 of shape (4,),",
        "write class numbers from 0, as int64",
    ],
    "redundancy bool-labels.npz": [
        "y_train of bool-labels.npz is bool of shape (4,), expected",
        "write class numbers from 0, as int64",
    ],
    "redundancy text-labels.npz": [
        "y_test of text-labels.npz is <U21 of shape (4,), expected",
        "write class numbers from 0, as int64",
    ],
    "redundancy one-hot.npz": [
        "y_train of one-hot.npz is int64 of shape (4, 4), expected",
        "write class numbers from 0, as int64",
    ],
    "redundancy negative.npz": [
        "y_test of negative.npz has the label -1: number the classes from 0"
    ],
    "redundancy from-one.npz": [
        "y_train of from-one.npz has no example of class 0 of 0 to 4",
        "number the classes without gaps, and give each of them",
    ],
    "redundancy gap.npz": [
        "y_train of gap.npz has no example of class 1 of 0 to 6",
        "number the classes without gaps, and give each of them",
    ],
    "redundancy wild.npz": [
        "y_train of wild.npz has no example of class 3 of 0 to",
        "number the classes without gaps, and give each of them",
    ],
    "redundancy beyond.npz": [
        "y_test of beyond.npz has the label 9223372036854775809, too",
        "number the classes from 0 without gaps",
    ],
    "redundancy not-tested.npz": [
        "y_test of not-tested.npz has no example of class 2 of 0 to 3",
        "number the classes without gaps, and give each of them",
    ],
    "redundancy names-few.npz": [
        "y_train of names-few.npz has the label 3, but there are 2",
        "number the classes 0 to 1, or name every class",
    ],
    "redundancy names-alike.npz": [
        "class_names of names-alike.npz is <U1 of shape (4,),",
        "name each class once",
    ],
    "redundancy names-numbers.npz": [
        "class_names of names-numbers.npz is int64 of shape (4,),",
        "name each class once",
    ],
    "redundancy names-bytes.npz": [
        "class_names of names-bytes.npz is |S1 of shape (4,),",
        "name each class once",
    ],
    "redundancy one-class.npz": [
        "one-class.npz has a single class, of which nothing can be",
        "give two or more",
    ],
    "redundancy good.npz ./good.npz": [
        "two of the data sets are called alike (good, good): name each once"
    ],
    "redundancy absent.npz": [
        "there is no feature file",
        "give its path, or point --data at its folder",
    ],
    "redundancy good": [
        "unknown data set 'good': (known",
        "breast_cancer, cifar10, cifar100, digits, fashion_mnist,",
    ],
    "redundancy ~nosuch/good.npz": [
        "there is no feature file",
        "give its path, or point --data at its folder",
    ],
    "redundancy .npz": ["there is no feature file", "give its path, or point --data at its folder"],
    "run kemker-features --sets good.npz": [
        "--sets names 2 for a scenario of kind multimodal, got 1"
    ],
    "run kemker-features --sets good.npz,nan.npz": [
        "x_train of nan.npz has NaN, Inf or a number too large for",
        "clean the data first",
    ],
}
