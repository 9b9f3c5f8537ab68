"""A block opened: its modules, or its tensors, as blocks beside all others together."""

from collections.abc import Sequence
from os.path import commonpath

from probe.errors import check_known
from probe.rewinding.blocks import Blocks
from probe.rewinding.parts import REST


def children_of(block: str, blocks: Blocks) -> Blocks:
    """Part a block by the first component of names that tells its tensors apart.

    >>> names = ("conv.weight", "conv.bias", "norm.weight")
    >>> list(children_of("b", {"b": names, "c": ("head.weight",)}))
    ['conv', 'norm.weight', 'rest']

    Args:
        block: The name of the block.
        blocks: All blocks.

    Returns:
        The parts by the prefix of their names, and the tensors of all other blocks as
        `rest`; only the block itself if it has a single tensor.

    Raises:
        InputError: There is no such block.
    """
    check_known("block", block, blocks)
    rest = tuple(
        name for other, names in blocks.items() if other != block for name in names
    )
    children = _by_component(blocks[block])
    return {**children, **({REST: rest} if rest else {})}


def _by_component(names: tuple[str, ...]) -> Blocks:
    """Return names in groups, by the first part of the path in which they differ.

    The key of a group is the longest path that its names share.
    """
    paths = [name.split(".") for name in names]
    depth = 1
    while len({tuple(path[:depth]) for path in paths}) == 1 and depth < max(
        map(len, paths)
    ):
        depth += 1
    children: dict[str, list[str]] = {}
    for name, path in zip(names, paths, strict=True):
        children.setdefault(".".join(path[:depth]), []).append(name)
    return {
        common_path(child) or prefix: tuple(child) for prefix, child in children.items()
    }


def common_path(names: Sequence[str]) -> str:
    """Return the longest dotted path that all names begin with.

    >>> common_path(["conv.0.weight", "conv.0.bias"]), common_path(["a.weight", "b"])
    ('conv.0', '')
    """
    return commonpath([name.replace(".", "/") for name in names]).replace("/", ".")
