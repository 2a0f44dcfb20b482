# SPDX-License-Identifier: MIT
"""Checks whether JSON has the shape that a program expects.

A shape is one of

    a function      the shape of all values for which it returns true
    {name: shape}   members of an object that may have others
    Each(shape)     all members of an object, with any names
    [shape]         all items of a list
    Maybe(shape)    null or the shape
    (shape, ...)    all of these
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Each:
    shape: Shape


@dataclass(frozen=True)
class Maybe:
    shape: Shape


Shape = Callable[[object], bool] | dict[str, Any] | Each | list[Any] | Maybe | tuple[Any, ...]
ABSENT = object()


def misfit(value: object, shape: Shape, place: str = "") -> str | None:
    """Returns the first place that lacks its shape, such as ".peers[3].title", or None."""
    if callable(shape):
        return None if shape(value) else place
    inner = (misfit(part, own, step) for part, own, step in parts(value, shape, place))
    return next((wrong for wrong in inner if wrong is not None), None)


def parts(value: object, shape: Shape, place: str) -> Iterator[tuple[object, Shape, str]]:
    """Yields the parts of a value, with their shapes and places."""
    match shape, value:
        case tuple(), _:
            yield from ((value, one, place) for one in shape)
        case Maybe(), None:
            return
        case Maybe(inner), _:
            yield value, inner, place
        case [inner], list():
            yield from ((item, inner, f"{place}[{at}]") for at, item in enumerate(value))
        case Each(inner), dict():
            yield from ((value[name], inner, f"{place}[{name!r}]") for name in value)
        case dict(), dict():
            for name, inner in shape.items():
                yield value.get(name, ABSENT), inner, f"{place}.{name}"
        case _:
            yield value, lambda _: False, place


# --- Values ---

# The limits of times, speeds and sizes, so that calculations do not overflow.
LEAST, MOST = 1e-12, 1e15


def is_text(value: object) -> bool:
    """Returns whether a value is text that UTF-8 can encode."""
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)


def is_flag(value: object) -> bool:
    return isinstance(value, bool)


def is_count(value: object) -> bool:
    return isinstance(value, int) and not is_flag(value) and 0 <= value <= MOST


def is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not is_flag(value) and LEAST <= value <= MOST


def is_difference(value: object) -> bool:
    return isinstance(value, int | float) and not is_flag(value) and abs(value) <= MOST


def is_amount_if_any(value: object) -> bool:
    return value is None or value is ABSENT or value == 0 or is_amount(value)
