"""`convert` is compiled, and yet an ordinary function to whoever looks at it."""

import copy
import doctest
import inspect
import pickle
import pydoc
import typing

import numpy as np
import pytest

import tensorbuf
from tensorbuf import convert
from tensorbuf.rule import UNSET

X = np.array([1.5, 2.5, np.nan, 300], np.float32)


def test_the_signature():
    parameters = inspect.signature(convert).parameters
    assert list(parameters) == ["x", "dtype", "out", "overflow", "rounding", "nan"]
    assert [parameters[name].kind for name in ("x", "dtype")] == [inspect.Parameter.POSITIONAL_OR_KEYWORD] * 2
    assert {parameters[name].kind for name in ("out", "overflow", "rounding", "nan")} == {
        inspect.Parameter.KEYWORD_ONLY
    }
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    assert (defaults["x"], defaults["dtype"]) == (inspect.Parameter.empty,) * 2
    assert (defaults["out"], defaults["overflow"], defaults["rounding"]) == (None, "saturate", "truncate")
    assert defaults["nan"] is UNSET
    assert typing.get_type_hints(convert)["overflow"] is str


def test_what_tools_are_told():
    assert (convert.__name__, convert.__qualname__) == ("convert", "convert")
    assert convert.__module__ == "tensorbuf.conversion"
    assert inspect.isroutine(convert)
    assert inspect.getsourcefile(inspect.unwrap(convert)) == inspect.getsourcefile(tensorbuf.conversion)
    page = pydoc.plain(pydoc.render_doc(convert))
    assert "convert(x:'Any',dtype:'DTypeLike',*,out:'Any'=None," in "".join(page.split())
    assert "The values of `x` in another element type" in page
    examples = doctest.DocTestFinder().find(tensorbuf.conversion, "conversion")
    assert any(example.name == "conversion.convert" and example.examples for example in examples)


def test_pickles_and_copies_are_the_function():
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(convert, protocol)) is convert
    assert copy.copy(convert) is convert
    assert copy.deepcopy(convert) is convert


def test_arguments_by_name_and_by_place():
    out = np.empty(4, np.uint8)
    for _ in range(3):
        assert convert(x=X, dtype="uint8").tolist() == [1, 2, 0, 255]
        assert convert(X, dtype="uint8", out=out) is out
        assert convert(X, "uint8", rounding="nearest", nan=7).tolist() == [2, 2, 7, 255]
        assert convert(X, "uint8", overflow="wrap").tolist() == [1, 2, 0, 44]


def test_names_that_are_equal_but_other_objects():
    overflow, rounding = (bytes(name, "ascii").decode() for name in ("saturate", "truncate"))
    assert convert(X, "uint8", overflow=overflow, rounding=rounding, nan=0).tolist() == [1, 2, 0, 255]


@pytest.mark.parametrize(
    "call",
    [
        lambda: convert(),
        lambda: convert(X),
        lambda: convert(X, "uint8", None),
        lambda: convert(X, "uint8", round="nearest"),
        lambda: convert(X, "uint8", x=X),
        lambda: convert(X, "uint8", out=None, Out=None),
    ],
)
def test_wrong_calls_name_the_function(call):
    with pytest.raises(TypeError, match=r"\bconvert\(\)"):
        call()


def test_an_empty_array_whose_result_would_be_too_large():
    wide = np.empty((2**62, 0), np.uint8)
    convert(X, np.float64)
    with pytest.raises(tensorbuf.ShapeError):
        convert(wide, np.float64)
