"""Wrong lines, as a tired developer writes them: one changed expression of a module at a time."""

import ast
import copy
import re
from dataclasses import dataclass

SWAPPED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Change:
    """A wrong line: the file, what stands there, and what is put in its place."""

    file: str
    line: int
    function: int  # its first line, with decorators; 0 outside of functions
    start: int
    end: int
    before: str
    after: str

    @property
    def joins(self):
        """Whether it changes what is handed from one function to another."""
        return "(" in self.before

    def applied(self, source):
        """Return the module's bytes with the wrong line."""
        return source[: self.start] + self.after.encode() + source[self.end :]


def changes_of(file, source):
    """Return every change of a module, in order.

    Messages, annotations and docstrings stay as they are.
    """
    tree = ast.parse(source)
    changes = []

    def visit(node, function):
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.AnnAssign | ast.arguments):
            return
        if isinstance(node, FUNCTIONS):
            decorators = [each.lineno for each in node.decorator_list]
            function = min([node.lineno, *decorators])
            for each in node.body:
                visit(each, function)
            return
        for other in others(node):
            is_value = isinstance(other, ast.expr)
            after = f"({ast.unparse(other)})" if is_value else "pass"
            changes.append(change_of(file, source, node, after, function))
        for child in ast.iter_child_nodes(node):
            visit(child, function)

    visit(tree, 0)
    return changes


def change_of(file, source, node, after, function=0):
    """Return the change that puts a text in place of a node."""
    lines = source.splitlines(keepends=True)
    start = len(b"".join(lines[: node.lineno - 1])) + node.col_offset
    end = len(b"".join(lines[: node.end_lineno - 1])) + node.end_col_offset
    before = source[start:end].decode()
    return Change(file, node.lineno, function, start, end, before, after)


def guards_of(file, source):
    """Yield the guards of a module as texts, and how each is moved by a step.

    A guard is an ordered comparison that decides an answer, a refusal or what is said,
    or a constant of the module in one.
    """
    tree = ast.parse(source)
    inside = [node for test in decisive(tree) for node in ast.walk(test)]
    names = set()
    for node in dict.fromkeys(inside):
        for k, operator in enumerate(getattr(node, "ops", ())):
            if isinstance(operator, ORDERED):
                left, right = [node.left, *node.comparators][k : k + 2]
                pair = ast.Compare(left, [operator], [right])
                names |= {getattr(side, "id", "") for side in ast.walk(pair)}
                ops = [*node.ops[:k], SWAPPED[type(operator)](), *node.ops[k + 1 :]]
                moved = f"({ast.unparse(changed(node, ops=ops))})"
                yield ast.unparse(pair), change_of(file, source, node, moved)
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in names:
                number = ast.unparse(value)
                if re.fullmatch(r"[-\d.e* ]+", number):
                    step = "* 1.1" if {*".e"} & {*number} else "+ 1"
                    moved = change_of(file, source, value, f"({number}) {step}")
                    yield ast.unparse(node), moved


def decisive(tree):
    """Yield what functions answer, and tests of branches that refuse or say something."""
    for node in ast.walk(tree):
        match node:
            case ast.Return(value=ast.expr() as answer):
                yield answer
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                branches = ast.walk(changed(node, test=ast.Pass()))
                if any(
                    isinstance(each, ast.Raise) or is_text(each) for each in branches
                ):
                    yield test


def is_text(node):
    return isinstance(getattr(node, "value", None), str)


def others(node):
    """Yield what a tired developer might have written in place of a node."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in SWAPPED:
            yield changed(node, ops=[SWAPPED[type(operator)]()])
        case ast.BinOp(op=operator) if type(operator) in SWAPPED:
            yield changed(node, op=SWAPPED[type(operator)]())
        case ast.BoolOp(op=operator, values=[first, *rest]):
            yield changed(node, op=SWAPPED[type(operator)]())
            yield first
            yield rest[-1]
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value + 1)
        case ast.IfExp(body=body, orelse=orelse):
            yield changed(node, body=orelse, orelse=body)
            yield body
        case ast.Tuple(elts=[ast.Name() as first, ast.Name() as second]):
            yield changed(node, elts=[second, first])
        case ast.Call(args=arguments, keywords=keywords):
            if len(arguments) > 1 and not isinstance(arguments[1], ast.Starred):
                yield changed(node, args=[arguments[1], arguments[0], *arguments[2:]])
            if len(keywords) > 1:
                yield changed(node, keywords=with_values_swapped(keywords))
            if keywords:
                yield changed(node, keywords=keywords[:-1])
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            if node.generators[0].ifs:
                unfiltered = changed(node.generators[0], ifs=[])
                yield changed(node, generators=[unfiltered, *node.generators[1:]])
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield ast.Pass()


def with_values_swapped(keywords):
    """Return keywords, the first two with each other's value."""
    first, second, *rest = keywords
    return [
        changed(first, value=second.value),
        changed(second, value=first.value),
        *rest,
    ]


def changed(node, **fields):
    """Return a copy of a node with other fields."""
    node = copy.copy(node)
    for name, value in fields.items():
        setattr(node, name, value)
    return node
