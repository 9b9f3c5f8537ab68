"""Python source as syntax: the names it imports, and a hash that only its meaning changes."""

import ast
import hashlib
from collections.abc import Iterator
from importlib.util import resolve_name

Source = ast.AST | bytes | str
"""A syntax tree, or a text."""


def syntax_hash(source: Source) -> str:
    """Return the hash of a source, the same in all versions of Python.

    A source that does not parse counts byte for byte.

    >>> syntax_hash("x = 1  # one") == syntax_hash('"A docstring."\\nx = (1)')
    True
    """
    tree = source if isinstance(source, ast.AST) else parsed(source)
    return digest(_text(tree) if isinstance(tree, ast.AST) else tree)


def parsed(text: bytes | str) -> Source:
    """Return the syntax tree of a text, or the text if it does not parse."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return text


def imported_names(tree: ast.AST, package: str = "") -> Iterator[str]:
    """Yield the dotted names that a module imports anywhere, with members of modules among them.

    Constant names in calls of `import_module` and `__import__` count.

    Args:
        tree: The module.
        package: Of the module, for relative imports.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            try:
                base = resolve_name("." * node.level + (node.module or ""), package)
            except ImportError:
                continue
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            name = node.args[0].value
            if called in ("import_module", "__import__") and isinstance(name, str):
                yield name.lstrip(".")


def digest(value: object) -> str:
    """Return the SHA-256 of bytes, or of a value as text."""
    text = value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
    return hashlib.sha256(text).hexdigest()


def _text(node: object) -> str:
    """Return a syntax tree as the text of nested lists, without docstrings and whatever is empty.

    `ast.dump` gives another text in other versions of Python: they have other fields, empty here.
    """
    # Every start reads some hundred thousand nodes: lists of lists would take twice as long.
    if isinstance(node, ast.AST):
        fields = [(name, getattr(node, name, None)) for name in node._fields]
        shown = [f", ('{name}', {_text(v)})" for name, v in fields if v is not None and v != []]
        return f"['{type(node).__name__}'{''.join(shown)}]"
    if isinstance(node, list):
        return f"[{', '.join([_text(item) for item in node if not _is_docstring(item)])}]"
    return repr(repr(node))


def _is_docstring(node: object) -> bool:
    """Return whether a statement is only a string: a docstring, also one below a constant."""
    constant = node.value if isinstance(node, ast.Expr) else None
    return isinstance(constant, ast.Constant) and isinstance(constant.value, str)
