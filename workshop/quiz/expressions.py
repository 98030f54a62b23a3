"""Arithmetic in decks: numbers, known names and a few functions, but nothing else of Python."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

LONGEST_EXPRESSION = 500  # characters
LARGEST_POWER = 1000

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
# Functions of numbers or of one list; `argmax` and `argmin` return a position in the list, from 0.
FUNCTIONS: dict[str, Callable[..., float]] = {
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
    "log2": math.log2,
    "max": max,
    "min": min,
    "round": round,
    "sqrt": math.sqrt,
    "sum": sum,
    "len": len,
    "mean": lambda values: sum(values) / len(values),
    "argmax": lambda values: max(range(len(values)), key=values.__getitem__),
    "argmin": lambda values: min(range(len(values)), key=values.__getitem__),
}


def parse(text: str, names: Collection[str]) -> ast.expr:
    """Parse an expression that uses only these names (and `name.field`). Raises ValueError with the mistake."""
    if len(text) > LONGEST_EXPRESSION:
        raise ValueError(f"an expression has at most {LONGEST_EXPRESSION} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"{text!r} is no arithmetic") from None
    _check(tree, text, names)
    return tree


def _check(node: ast.AST, text: str, names: Collection[str]) -> None:
    match node:
        case ast.Constant(value=bool()):
            raise ValueError(f"{text!r} has yes and no in it; expressions can only compute with numbers")
        case ast.Constant(value=int() | float()):
            return
        case ast.Name(id=name):
            if name not in names:
                expected = f"one of {', '.join(names)}" if names else "a number"
                raise ValueError(f"{text!r} names {name}, which is not known; it should be {expected}")
        case ast.Attribute(value=ast.Name() as whose, attr=field) if not field.startswith("_"):
            _check(whose, text, names)
        case ast.Subscript(value=value, slice=ast.Constant(value=int() | str())):
            _check(value, text, names)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            _check(operand, text, names)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY or isinstance(op, ast.Pow):
            _check(left, text, names)
            _check(right, text, names)
        case ast.Call(func=ast.Name(id=function), args=args, keywords=[]) if function in FUNCTIONS:
            for argument in args:
                _check(argument, text, names)
        case _:
            raise ValueError(f"{text!r} has something in it that is no arithmetic ({type(node).__name__.lower()})")


def evaluate(text: str, values: Mapping[str, Any]) -> float:
    """The value of an expression; `values` holds numbers, or mappings of fields for `name.field`.

    Raises ValueError with one sentence if there is no finite value: an unknown field, a division by zero, an overflow.
    """
    try:
        value = float(_checked(_value(parse(text, values), values), text))
    except ZeroDivisionError:
        raise ValueError(f"{text!r} divides by zero") from None
    except (TypeError, OverflowError, IndexError) as error:
        raise ValueError(f"{text!r} can't be computed ({error})") from None
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is no finite number")
    return value


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return values[name]
        case ast.Attribute(value=ast.Name(id=name), attr=field):
            return _member(values[name], field, name)
        case ast.Subscript(value=value, slice=ast.Constant(value=key)):
            return _member(_value(value, values), key, ast.unparse(value))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand, values)
        case ast.UnaryOp(operand=operand):
            return _value(operand, values)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            base, power = _number(left, values), _number(right, values)
            if abs(power) > LARGEST_POWER:
                raise ValueError(f"a power of {power} is too large to be computed")
            return float(base) ** power
        case ast.BinOp(left=left, op=op, right=right):
            return _BINARY[type(op)](_number(left, values), _number(right, values))
        case ast.Call(func=ast.Name(id=function), args=args):
            arguments = [_argument(argument, values) for argument in args]
            try:
                return FUNCTIONS[function](*arguments)
            except ValueError as error:  # the root of a negative number, the largest of nothing
                raise ValueError(f"{ast.unparse(node)!r} can't be computed ({error})") from None
    raise ValueError(f"{ast.unparse(node)!r} is no arithmetic")


def _argument(node: ast.expr, values: Mapping[str, Any]) -> Any:
    """Evaluate an argument of a function: a number or a list of numbers. A mapping is refused, because a function
    would compute with its keys."""
    value = _value(node, values)
    for number in value if isinstance(value, list | tuple) else [value]:
        _checked(number, ast.unparse(node))
    return value


def _number(node: ast.expr, values: Mapping[str, Any]) -> Any:
    """Evaluate an operand. Lists and texts are refused, because Python would repeat them when it multiplies."""
    return _checked(_value(node, values), ast.unparse(node))


def _checked(value: Any, text: str) -> int | float:
    if not isinstance(value, int | float):
        raise ValueError(f"{text!r} can't be computed: it is no number; choose one, as in run.seconds or run.list[0]")
    return value


def _member(container: Any, key: Any, name: str) -> Any:
    """A field of a run's metrics, or an element of a list."""
    try:
        return container[key]
    except (KeyError, IndexError, TypeError):
        members = f"; it has {', '.join(map(str, container))}" if isinstance(container, Mapping) else ""
        raise ValueError(f"{name} has no {key}{members}") from None
