"""Data sets: examples with their labels, by name or from a file of the user's own.

`datasets` is what others use: `load` gives a `Dataset` for any name. Behind it `image_sets` and
`image_files` read published image sets, `speech` makes images of spoken digits, `feature_files`
reads and writes data of any origin as one .npz file, and `image_features` makes such a file of a
folder of images. `npz` reads numpy's archives for the others. No reader runs code that a file
brings along, and every defect of a file is one `InputError` that names it.
"""
