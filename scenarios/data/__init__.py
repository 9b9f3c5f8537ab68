"""Data sets: examples with their labels, by name or from a user's file.

`datasets.load` gives a `Dataset` for any name. `image_sets` reads published image sets,
`speech` makes images of spoken digits, `feature_files` reads and writes any data as one
.npz file, `image_features` makes such a file from a folder of images, and `npz` reads
numpy's archives. No reader runs code of a user's file, and every defect of a file is an
`InputError` that names it.
"""
