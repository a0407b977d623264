"""The slow, obvious twin of `tensorbuf.index`: the coordinates that each selector keeps, and what numpy reads there."""

import builtins

import numpy as np

from tensorbuf import index as ix


def coordinates(selector, length):
    """The coordinates that a selector keeps of an axis: a list, or an int where the axis is dropped."""
    arguments = selector.arguments
    everything = builtins.list(builtins.range(length))
    match selector.name:
        case "at":
            kept = everything[arguments[0]]
            return [kept] if len(arguments) > 1 else kept
        case "all":
            return everything
        case "even":
            return everything[::2]
        case "odd":
            return everything[1::2]
        case "flip":
            return everything[::-1]
        case "step":
            return everything[:: arguments[0]]
        case "slice":
            return everything[builtins.slice(*arguments)]
        case "range":
            return everything[builtins.slice(*arguments)]
        case "slice_from":
            return everything[builtins.slice(arguments[0], None, *arguments[1:])]
        case "slice_to":
            return everything[builtins.slice(None, *arguments)]
        case "seq":
            return builtins.list(arguments)
        case "hyperslab":
            start, stride, count, block = arguments
            return [start + stride * i + j for i in builtins.range(count) for j in builtins.range(block)]
    raise AssertionError(selector)


def chosen(array, selectors):
    """What numpy reads, a copy."""
    rest = array.ndim - sum(selector not in (ix.newaxis(), ix.ellipsis()) for selector in selectors)
    if ix.ellipsis() not in selectors:
        selectors = (*selectors, ix.ellipsis())
    axis = 0
    for selector in selectors:
        if selector == ix.newaxis():
            array = np.expand_dims(array, axis)
            axis += 1
        elif selector == ix.ellipsis():
            axis += rest
        else:
            array = np.take(array, coordinates(selector, array.shape[axis]), axis)
            axis += not (selector.name == "at" and len(selector.arguments) == 1)
    return np.asarray(array)
