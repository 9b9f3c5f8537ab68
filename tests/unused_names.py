"""Names that nothing uses: `python -m tests.unused_names` prints them, and fails if there are any.

Names of a module must be read in it, imported or named elsewhere; methods, fields and
attributes must be read anywhere. Use in documentation and doctests counts, in tests it
does not.
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("probe", "scenarios", "figures")
# Other decorators, such as `app.command`, hand what they decorate to somebody.
CHANGING = (
    "cache",
    "lru_cache",
    "contextmanager",
    "dataclass",
    "overload",
    "total_ordering",
    "property",
    "cached_property",
    "classmethod",
    "staticmethod",
    "abstractmethod",
    "override",
)


def unused(sources, docs=""):
    """Return `MODULE: NAME` for each unused name; sources: the text of each module by its name."""
    trees = {module: ast.parse(text) for module, text in sources.items()}
    classes = set()
    uses = set()
    public = set()
    for tree in trees.values():
        nodes = ast.walk(tree)
        classes |= {node.name for node in nodes if isinstance(node, ast.ClassDef)}
        uses.update(_uses(tree))
        public.update(_public(tree))
    examples = " ".join(re.findall(r">>> .*|\.\.\. .*", " ".join(sources.values())))
    said = set(re.findall(r"(?:`|\.|:|import |, )(\w+)", docs)) | set(
        re.findall(r"\w+", examples)
    )
    found = []
    for module, tree in trees.items():
        used = {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        names = set(_defined(tree.body)) - used - said - public
        for name in names:
            # Constants of modules that are imported by name are read as attributes of
            # anything.
            places = {f"{module}.{name}", f":{name}"}
            if name.isupper() and len(name) > 1:
                places.add(f".{name}")
            if not uses & places:
                found.append(f"{module}: {name}")
        for node in ast.walk(tree):
            # A base class from elsewhere may call any method.
            if isinstance(node, ast.ClassDef) and classes.issuperset(
                map(_last, node.bases)
            ):
                names = {*_defined(node.body), *_written(node)} - said
                names = {
                    n for n in names if n.startswith("_") or node.name not in public
                }
                found += [
                    f"{module}: {node.name}.{n}" for n in names if f".{n}" not in uses
                ]
    return sorted(
        name for name in found if not re.search(r"\b(__\w+__|model_config)$", name)
    )


def _uses(tree):
    """Yield MODULE.NAME for imported names, .NAME for attributes, :NAME for text `module:NAME`."""
    homes = {}
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                homes |= {
                    each.asname or each.name: f"{module}.{each.name}" for each in names
                }
            case ast.Import(names=names):
                homes |= {each.asname or each.name: each.name for each in names}
            case ast.Attribute(attr=name, ctx=ast.Load()) | ast.keyword(arg=str(name)):
                yield f".{name}"
            case ast.MatchClass(kwd_attrs=names):
                yield from (f".{name}" for name in names)
            case ast.Constant(value=str(text)) if re.fullmatch(r"[\w.:]+", text):
                yield from re.findall(r":\w+", text)
                yield from (f".{word}" for word in re.findall(r"\w+", text))
    yield from homes.values()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            value = ast.unparse(node.value)
            yield f"{homes.get(value, value)}.{node.attr}"


def _public(tree):
    """Yield the names in `__all__`."""
    for node in tree.body:
        match node:
            case ast.Assign(
                targets=[ast.Name(id="__all__")], value=ast.List(elts=names)
            ):
                yield from (
                    name.value for name in names if isinstance(name, ast.Constant)
                )
            case ast.Assign(
                targets=[ast.Name(id="_HOMES")], value=ast.Dict(keys=names)
            ):
                yield from (name.value for name in names)


def _defined(body):
    """Yield the names that a module or class gives to values, functions and classes."""
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                if all(_last(each) in CHANGING for each in node.decorator_list):
                    yield name
            case (
                ast.Assign(targets=[ast.Name(id=name)])
                | ast.AnnAssign(target=ast.Name(id=name))
            ):
                yield name


def _written(tree):
    """Yield the attributes of `self` that a class writes."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name


def _last(node):
    """Return the last part of a dotted name, which may be called or subscripted.

    >>> _last(ast.parse("functools.lru_cache(maxsize=1)").body[0].value)
    'lru_cache'
    """
    return re.split(r"[(\[]", ast.unparse(node))[0].rpartition(".")[2]


def main():
    paths = []
    for room in ROOMS:
        paths += (ROOT / room).rglob("*.py")
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths]
    texts = [path.read_text("utf-8") for path in paths]
    pages = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "pyproject.toml",
    ]
    docs = "\n".join(page.read_text("utf-8") for page in pages)
    modules = [name.removesuffix(".__init__") for name in names]
    found = unused(dict(zip(modules, texts, strict=True)), docs)
    print(*found, sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
