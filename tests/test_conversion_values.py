"""Every pair and every mode against the twin: all patterns of the small types, the telling ones of the wide."""

import re

import numpy as np
import oracle
import pytest
import twin
from oracle import ELEMENTS, ROUNDINGS
from patterns import FLOATS, INTEGERS, NAMES, sample

from tensorbuf import ConversionError, cast, convert, saturate_cast

pytestmark = pytest.mark.levels


def rounds(of: str, to: str) -> bool:
    """Whether `rounding` and `nan` mean anything to the pair."""
    return ELEMENTS[of].kind == "float" and ELEMENTS[to].kind == "integer"


def allowed(of: str, to: str) -> bool:
    return ELEMENTS[of].kind != "complex" or ELEMENTS[to].kind in ("bool", "complex")


def targets(of: str) -> list[str]:
    return [to for to in NAMES if allowed(of, to)]


@pytest.mark.parametrize("of", NAMES)
@pytest.mark.parametrize("overflow", ["saturate", "wrap"])
def test_every_pair(of, overflow):
    source = sample(of)
    reals = twin.read(source)
    for to in targets(of):
        # A rounding must change nothing where a pair does not round to integers.
        for rounding in ROUNDINGS if rounds(of, to) else ("truncate", "ceil"):
            want = twin.convert(source, to, overflow, rounding, reals=reals).values
            got = convert(source, to, overflow=overflow, rounding=rounding)
            twin.assert_same(got, want, source, f"{of} to {to}, {overflow}, {rounding}")


@pytest.mark.parametrize("of", NAMES)
def test_every_cast(of):
    source = sample(of)
    for to in NAMES:
        twin.assert_same(cast(source, to), twin.cast(source, to), source, f"cast {of} to {to}")
        want = twin.saturate_cast(source, to)
        twin.assert_same(saturate_cast(source, to), want, source, f"saturate_cast {of} to {to}")


@pytest.mark.parametrize("of", NAMES)
def test_every_judgement(of):
    """What fits is converted; each element at the edge of what does not is refused, with its position and value."""
    source = sample(of)
    reals = twin.read(source)
    for to in targets(of):
        for rounding in ROUNDINGS if rounds(of, to) else ROUNDINGS[:1]:
            what = f"{of} to {to}, {rounding}"
            values, fits = twin.convert(source, to, "raise", rounding, reals=reals)
            got = convert(source[fits], to, overflow="raise", rounding=rounding)
            twin.assert_same(got, values[fits], source[fits], what)
            for edge in edges(~fits):
                check_refusal(source[fits][:40], source[edge], to, rounding, what)


def edges(refused: np.ndarray) -> np.ndarray:
    """The first and the last position of every run of refused elements, up to some twenty."""
    changes = np.flatnonzero(np.diff(refused.astype(np.int8), prepend=0, append=0))
    positions = np.unique(np.concatenate([changes[::2], changes[1::2] - 1]))
    return positions[:: 1 + positions.size // 20]


def check_refusal(fitting: np.ndarray, refused: np.generic, to: str, rounding: str, what: str) -> None:
    position = fitting.size // 2
    array = np.concatenate([fitting[:position], [refused], fitting[position:], [refused]]).astype(fitting.dtype)
    array[position] = refused
    try:
        convert(array, to, overflow="raise", rounding=rounding)
    except ConversionError as error:
        assert_names(str(error), position, refused, what)
    else:
        pytest.fail(f"{what}: {refused!r} was not refused")


def assert_names(message: str, position: int, value: np.generic, what: str) -> None:
    """The sentence has the position and the value in decimal, with at least the digits that its type needs."""
    numbers = re.findall(r"(?<![\w.])[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)", message)
    assert str(position) in numbers, f"{what}: no position {position} in {message!r}"
    if value.dtype.kind == "c":
        assert "j" in message, f"{what}: no complex number in {message!r}"
    elif isinstance(value, np.integer):
        assert str(value) in numbers, f"{what}: no {value} in {message!r}"
    else:
        found = np.array([float(number) for number in numbers]).astype(value.dtype)
        assert ((found == value) | ((found != found) & (value != value))).any(), f"{what}: no {value!r} in {message!r}"


@pytest.mark.parametrize("of", FLOATS)
@pytest.mark.parametrize(
    "nan", [0, 7, 300, -1, 2.5, -0.5, 1e300, 2**63, 2**64, -(2**63) - 1, 10**40, -(10**400), np.inf, -np.inf]
)
def test_nan_becomes_a_number_that_goes_through_the_rule(of, nan):
    one = oracle.convert(0x3FF0000000000000, "float64", of)
    bits = np.array(
        [ELEMENTS[of].nan_pattern, one, (1 << (ELEMENTS[of].bits - 1)) - 1] * 17, f"u{ELEMENTS[of].bits // 8}"
    )
    source = bits.view(twin.dtype_of(of))
    for to in INTEGERS:
        for rounding in ROUNDINGS:
            for overflow in ("saturate", "wrap"):
                want = twin.convert(source, to, overflow, rounding, nan).values
                got = convert(source, to, overflow=overflow, rounding=rounding, nan=nan)
                twin.assert_same(got, want, source, f"{of} to {to}, {overflow}, {rounding}, nan={nan}")
            values, fits = twin.convert(source, to, "raise", rounding, nan)
            if fits.all():
                got = convert(source, to, overflow="raise", rounding=rounding, nan=nan)
                twin.assert_same(got, values, source, f"{of} to {to}, raise, {rounding}, nan={nan}")
            else:
                with pytest.raises(ConversionError):
                    convert(source, to, overflow="raise", rounding=rounding, nan=nan)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_type_copies_the_bits(name):
    source = sample(name)
    if name == "bool":
        source = source.view(np.uint8).astype(bool)
    for overflow in oracle.OVERFLOWS:
        got = convert(source, name, overflow=overflow)
        assert got.tobytes() == source.tobytes()
        assert not np.shares_memory(got, source)
    assert cast(source, name).tobytes() == source.tobytes()


@pytest.mark.parametrize("to", NAMES)
def test_a_bool_byte_that_is_not_zero_counts_as_true(to):
    source = np.arange(256, dtype=np.uint8).view(bool)
    want = convert(np.array([False] + [True] * 255), to)
    for got in (convert(source, to), cast(source, to), saturate_cast(source, to)):
        assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("of", FLOATS)
def test_a_nan_from_another_type_is_canonical(of):
    """Quiet, positive, without payload, wherever it stands and whatever NaN it was."""
    source = sample(of)
    source = source[twin.is_nan(twin.patterns_of(source), of)]
    source = np.resize(source, max(source.size, 131))
    for to in FLOATS:
        if to != of:
            got = twin.patterns_of(convert(source, to))
            assert (got == ELEMENTS[to].nan_pattern).all(), (of, to, np.unique(got))


@pytest.mark.parametrize("of", ["float32", "float64", "int32", "uint64", "float16"])
def test_overflow_without_an_infinity_is_the_canonical_nan(of):
    source = np.array([500, 60000] * 70, twin.dtype_of(of))
    assert (convert(source, "float8_e4m3fn").view(np.uint8) == 0x7F).all()
    if ELEMENTS[of].kind == "float":
        assert (convert(-source, "float8_e4m3fn").view(np.uint8) == 0x7F).all()
