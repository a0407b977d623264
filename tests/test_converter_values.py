"""Converter's formulas, bit for bit: the tables, and every pair of types against the formulas step by step."""

import ml_dtypes
import numpy as np
import plans
import pytest
import twin
from oracle import ELEMENTS, ROUNDINGS
from patterns import FLOATS, INTEGERS, REAL_NAMES, from_patterns, random_patterns, sample

from tensorbuf import ConversionError, Converter, convert

pytestmark = pytest.mark.levels


def some(name: str, count: int = 3000) -> np.ndarray:
    array = sample(name)
    return array[:: max(1, array.size // count)].copy()


def check(plan: Converter, x: np.ndarray, want: np.ndarray, what: object) -> None:
    """Alone and, where all results of a small type may come from a table, in an array long enough for that."""
    got = plan(x)
    twin.assert_same(got, want, x, what)
    if x.itemsize == 1:
        assert plan(np.resize(x, 4099)).tobytes() == np.resize(got, 4099).tobytes(), what


def float_bits(array) -> list[str]:
    return [f"{x:08x}" for x in array.view(np.uint32).tolist()]


def test_normalize_table():
    x = np.uint8([0, 1, 127, 128, 255])
    got = Converter.normalize(0.485, 0.229)(x)
    assert float_bits(got) == ["c0078bbd", "c006732b", "3d6939a6", "3d97af32", "400fee1d"]
    assert got.tolist()[2] == 0.0569397434592247
    halves = Converter.normalize(0.5, 0.5)(x)
    assert halves.tolist() == [-1.0, halves[1], -0.003921568393707275, 0.003921627998352051, 1.0]
    assert float_bits(halves[2:4]) == ["bb808080", "3b808100"]


def test_normalize_takes_no_shortcut():
    """Each shortcut is wrong for as many of the 256 inputs as it is known to be."""
    x = np.arange(256, dtype=np.uint8)
    got = Converter.normalize(0.485, 0.229)(x)
    wide = ((x / 255.0 - 0.485) / 0.229).astype(np.float32)
    assert np.count_nonzero(got != wide) == 133


def test_affine_table():
    x = np.float32([1, 2, 3])
    assert Converter("float32", scale=0.1, offset=0.2)(x).tolist() == [0.30000001192092896, 0.4000000059604645, 0.5]
    wide = Converter("float64", scale=0.1, offset=0.2)(x.astype(np.float64))
    assert wide.tolist() == [0.30000000000000004, 0.4, 0.5]
    assert Converter("float32", scale=0.1)(np.ones(1, np.float32)).view(np.uint32).tolist() == [0x3DCCCCCD]
    assert Converter("float64", scale=np.float32(0.1))(np.ones(1)).tolist() == [0.10000000149011612]


def test_nothing_is_fused():
    x = np.arange(256, dtype=np.uint8)
    got = Converter("float32", scale=0.1, offset=-3.3)(x)
    exact = x * np.float64(np.float32(0.1)) + np.float64(np.float32(-3.3))
    # Products of 8 by 24 bits and these sums are exact in float64, so this is what a fused operation would give.
    assert np.count_nonzero(got != exact.astype(np.float32)) == 105


@pytest.mark.parametrize(
    ("zero_point", "want"),
    [
        (0, [0, 2, 2, 0, -2, 126, 127, 127, -128, 127, -128, 0]),
        (1, [1, 3, 3, 1, -1, 127, 127, 127, -127, 127, -128, 0]),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_quantize_table(zero_point, want, dtype):
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 126.5, 127.5, 1e30, -128.5, np.inf, -np.inf, np.nan], dtype)
    assert Converter.quantize(1.0, zero_point)(x).tolist() == want


def test_quantize_facts():
    assert Converter.quantize(1.0, 10, dtype="uint8")(np.array([-12.0, 245.5, np.nan])).tolist() == [0, 255, 0]
    assert Converter.quantize(0.1)(np.float32([1.05])).tolist() == [10]
    assert Converter.quantize(0.1)(np.array([0.25])).tolist() == [2]
    assert Converter.quantize(0.1)(np.float32([0.15])).tolist() == [2]
    assert Converter.quantize(1.0, rounding="nearest_away")(np.float32([0.5, -0.5, 2.5])).tolist() == [1, -1, 3]
    assert Converter.quantize(1.0, rounding="floor")(np.float32([0.5, -0.5])).tolist() == [0, -1]
    e4m3 = Converter.quantize(1.0, dtype="float8_e4m3fn")(np.float32([500, np.inf, -np.inf, 17, 464]))
    assert e4m3.view(np.uint8).tolist() == [0x7E, 0x7E, 0xFE, 0x58, 0x7E]
    assert np.isnan(Converter.quantize(1.0, dtype="float8_e5m2")(np.float32([np.nan])).astype(float)).all()


def test_dequantize_facts():
    x = np.int8([-128, -1, 0, 127])
    want = [-13.100000381469727, -0.4000000059604645, -0.30000001192092896, 12.40000057220459]
    assert Converter.dequantize(0.1, 3)(x).tolist() == want
    assert Converter.dequantize(np.float32(0.1))(np.int32([2**24 + 1])).tolist() == [1677721.75]


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize("scale", [0.1, 1.0, 3.7e-3, 1 / 255, 1e20, -0.25])
def test_quantize_undoes_dequantize(name, scale):
    every = sample(name)
    for zero_point in (0, 3, int(np.iinfo(name).min), int(np.iinfo(name).max)):
        values = Converter.dequantize(scale, zero_point)(every)
        back = Converter.quantize(scale, zero_point, dtype=name)(values)
        assert back.tolist() == every.tolist()


def test_negative_zero_stays_where_an_operation_is_skipped():
    x = np.float32([-0.0, 0.0])
    assert np.signbit(Converter("float32")(x)).tolist() == [True, False]
    assert np.signbit(Converter("float32", scale=1.0)(x)).tolist() == [True, False]
    assert np.signbit(Converter("float32", offset=0.0)(x)).tolist() == [False, False]
    assert np.signbit(Converter("float64", scale=-1)(x)).tolist() == [False, True]
    assert np.signbit(Converter("float32", offset=-0.0)(x)).tolist() == [True, False]


@pytest.mark.parametrize("of", REAL_NAMES)
def test_affine_on_every_pair(of):
    x = some(of, 700)
    for to in REAL_NAMES:
        for scale, offset in ((0.1, -3.3), (None, 1e-3), (-2.5, None), (np.float32(0.1), 1000)):
            for number, overflow in enumerate(("saturate", "wrap")):
                how = {"overflow": overflow, "rounding": ROUNDINGS[(len(of) + len(to) + number) % 5]}
                want = plans.affine(x, to, scale, offset, **how)
                check(
                    Converter(to, scale=scale, offset=offset, **how), x, want, f"{of} to {to}, {scale}, {offset}, {how}"
                )
        check(Converter(to, scale=0.3, nan=77.5), x, plans.affine(x, to, 0.3, nan=77.5), f"{of} to {to}, nan=77.5")


@pytest.mark.parametrize("of", REAL_NAMES)
def test_normalize_on_every_pair(of):
    x = some(of, 700)
    for to in REAL_NAMES:
        for mean, std, divide_by in ((0.485, 0.229, 255), (0, 1, 1), (127.5, -3, 2)):
            want = plans.normalize(x, mean, std, divide_by, to)
            check(
                Converter.normalize(mean, std, divide_by=divide_by, dtype=to),
                x,
                want,
                f"{of} to {to}, {mean}, {std}, {divide_by}",
            )


@pytest.mark.parametrize("of", REAL_NAMES)
def test_quantize_on_every_pair(of):
    x = some(of, 700)
    for to in (*INTEGERS, "float8_e4m3fn", "float8_e5m2"):
        integer = ELEMENTS[to].kind == "integer"
        for number, rounding in enumerate(ROUNDINGS):
            scale = (1.0, 0.1, 3e-5, np.float32(0.7), -12)[number]
            zero_point = (0, 3, 0, 100, 7)[number] if integer else 0
            want = plans.quantize(x, scale, zero_point, to, rounding=rounding)
            check(
                Converter.quantize(scale, zero_point, dtype=to, rounding=rounding),
                x,
                want,
                f"{of} to {to}, {scale}, {zero_point}, {rounding}",
            )


@pytest.mark.parametrize("of", INTEGERS)
def test_dequantize_on_every_pair(of):
    x = some(of, 700)
    for to in REAL_NAMES:
        for scale, zero_point in ((0.1, 3), (1, 0), (np.float32(0.003), -128), (1e-40, 128)):
            want = plans.dequantize(x, scale, zero_point, to)
            check(Converter.dequantize(scale, zero_point, dtype=to), x, want, f"{of} to {to}, {scale}, {zero_point}")


@pytest.mark.proof
@pytest.mark.parametrize("of", REAL_NAMES)
def test_many_values_on_every_pair(of):
    x = from_patterns(random_patterns(of, 1 << 17, 5), of)
    for to in REAL_NAMES:
        for overflow in ("saturate", "wrap"):
            want = plans.affine(x, to, 0.1, -3.3, overflow=overflow, rounding="nearest")
            check(
                Converter(to, scale=0.1, offset=-3.3, overflow=overflow, rounding="nearest"),
                x,
                want,
                f"{of} to {to}, {overflow}",
            )
        got = Converter.normalize(0.485, 0.229, dtype=to)(x)
        twin.assert_same(got, plans.normalize(x, 0.485, 0.229, to=to), x, f"normalize {of} to {to}")
        got = Converter.dequantize(0.003, 17, dtype=to)(x)
        twin.assert_same(got, plans.dequantize(x, 0.003, 17, to), x, f"dequantize {of} to {to}")
        if ELEMENTS[to].kind == "integer":
            for rounding in ROUNDINGS:
                want = plans.quantize(x, 0.7, 3, to, rounding=rounding)
                check(
                    Converter.quantize(0.7, 3, dtype=to, rounding=rounding),
                    x,
                    want,
                    f"quantize {of} to {to}, {rounding}",
                )


@pytest.mark.parametrize("of", [*REAL_NAMES, "complex64", "complex128"])
def test_a_plan_without_arithmetic_is_convert(of):
    x = some(of, 700)
    for to in ("uint8", "int64", "bool", "float16", "float32", "complex64", of):
        if ELEMENTS[of].kind == "complex" and to not in ("bool", "complex64", of):
            with pytest.raises(TypeError):
                Converter(to)(x)
            continue
        for how in ({}, {"rounding": "floor"}, {"overflow": "wrap"}, {"nan": 9}):
            assert Converter(to, **how)(x).tobytes() == convert(x, to, **how).tobytes()
        turned = Converter(to, layout="AB->BA")(x[:240].reshape(12, 20))
        assert turned.tobytes() == convert(x[:240].reshape(12, 20).T, to).tobytes()


@pytest.mark.parametrize("of", FLOATS)
@pytest.mark.parametrize("to", FLOATS)
def test_a_nan_made_by_arithmetic_is_canonical(of, to):
    x = np.resize(np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, 1.0]).astype(twin.dtype_of(of)), 150)
    for plan in (Converter(to, scale=0.0), Converter(to, offset=-np.inf), Converter.normalize(1, 1, dtype=to)):
        bits = twin.patterns_of(plan(x))
        nan = bits[twin.is_nan(bits, to)]
        assert nan.size
        assert (nan == ELEMENTS[to].nan_pattern).all()


@pytest.mark.parametrize(
    "given", [[0.1, 0.2, 0.3], (0.1, 0.2, 0.3), np.array([0.1, 0.2, 0.3]), np.float32([0.1, 0.2, 0.3])]
)
def test_parameters_are_rounded_once_from_what_was_given(given):
    for name in ("uint8", "float32", "int32", "float64"):
        x = np.resize(some(name, 60), (20, 3))
        for to in ("float32", "float64", "int16"):
            twin.assert_same(Converter(to, scale=given)(x), plans.affine(x, to, given), x, (name, to))


def test_parameters_of_every_kind():
    x = np.float32([[1, 2, 3]])
    for scale in (2, 2.0, np.int8(2), np.float16(2), ml_dtypes.bfloat16(2), np.array(2), [2], np.array([2]), True + 1):
        assert Converter("float32", scale=scale)(x).tolist() == [[2, 4, 6]]
    # 2**24 + 1 is no float32, and 2**53 + 1 no float64.
    assert Converter("float32", offset=2**24 + 1)(np.float32([0])).tolist() == [2**24]
    assert Converter("float32", offset=2**62 + 2**38 + 1)(np.float32([0])).tolist() == [2**62 + 2**39]
    assert Converter("float32", offset=np.int64([2**62 + 2**38 + 1]))(np.float32([0])).tolist() == [2**62 + 2**39]
    assert Converter("float64", offset=2**53 + 1)(np.zeros(1)).tolist() == [2**53]


def test_the_arithmetic_follows_the_source():
    plan = Converter("float32", scale=0.1)
    assert plan(np.float32([3]))[0] == np.float32(3) * np.float32(0.1)
    assert plan(np.array([3.0]))[0] == np.float32(3.0 * 0.1)
    assert plan(np.int32([33554435]))[0] == np.float32(33554435 * 0.1)
    assert plan(np.int16([3]))[0] == np.float32(3) * np.float32(0.1)
    assert plan(np.uint64([2**64 - 1]))[0] == np.float32(2.0**64 * 0.1)


def test_parameters_may_be_ints_of_any_size():
    one = np.float32([1])
    assert Converter("float32", scale=2**70)(one).tolist() == [2**70]
    assert Converter("float64", scale=[2**63, -1])(np.float64([1, 1])).tolist() == [2**63, -1]
    assert Converter("float32", offset=-(10**400))(one).tolist() == [-np.inf]
    # One rounding: by way of float64 it would be 2**62.
    assert Converter("float32", scale=[2**62 + 2**38 + 1, 0.5])(np.float32([1, 1])).tolist() == [2**62 + 2**39, 0.5]


def test_a_layout_alone_is_convert_and_the_layout():
    x = np.array([[0, 1], [2, 300], [500, -1]])
    for given in (x, x[::-1][::-1], x.astype(">i8"), x.tolist()):
        for how in ({}, {"overflow": "wrap"}, {"rounding": "ceil"}):
            got = Converter("uint8", layout="AB->BA", **how)(given)
            assert got.tolist() == convert(x, "uint8", **how).T.tolist()
        for scale in (None, 1):
            # Named where it lies in x, not where it would go.
            with pytest.raises(ConversionError, match=r"^element 3 is 300,"):
                Converter("uint8", layout="AB->BA", overflow="raise", scale=scale)(given)
        assert Converter("complex64", layout="AB->BA")(given).tolist() == x.T.tolist()
    out = np.full((2, 3), 9, np.uint8)
    with pytest.raises(ConversionError, match=r"^element 3 is 300,"):
        Converter("uint8", layout="AB->BA", overflow="raise")(x, out)
    assert (out == 9).all()


def test_ints_of_any_size():
    assert Converter("uint8", layout="AB->BA")([[10**40, 2**63], [-1, 7]]).tolist() == [[255, 0], [255, 7]]
    assert Converter("uint8", layout="A->A", overflow="wrap")([2**64 + 3, -1]).tolist() == [3, 255]
    assert Converter("float32", layout="A->A")([2**62 + 2**38 + 1, 0.5]).tolist() == [2**62 + 2**39, 0.5]
    for plan in (Converter("int64", scale=1), Converter("int64", scale=1, layout="A->A")):
        assert plan([10**40, 2**63, -(10**400), 5]).tolist() == [2**63 - 1, 2**63 - 1, -(2**63), 5]
    assert Converter("float64", offset=0)([2**63 + 2048, -1]).tolist() == [2**63 + 2048, -1]
    with pytest.raises(ConversionError, match=r"^element 1 is 1e\+40,"):
        Converter("int64", scale=1, overflow="raise")([5, 10**40])


def test_a_plan_shows_what_it_does():
    plan = Converter.normalize([0.5, 0.25], 2, layout="HWC->CHW")
    shown = repr(plan)
    for part in ("float32", "divide 255.0", "subtract [0.5, 0.25]", "divide 2.0", "layout HWC->CHW"):
        assert part in shown
    assert "round nearest_away, add 3.0" in repr(Converter.quantize(0.1, 3, rounding="nearest_away"))
    assert "nan 7" in repr(Converter("uint8", nan=7))


@pytest.mark.levels
@pytest.mark.parametrize("to", ["int8", "uint8"])
def test_quantize_beside_every_tie(to):
    """A division by a reciprocal must not be seen: not next to the ties, nor where quotients overflow or vanish."""
    limits = np.iinfo(to)
    rng = np.random.default_rng(7)
    scales = [*np.exp(rng.uniform(-14, 8, 60)), 1.0, 0.5, 1 / 255, 3e-39, 1e-45, 1e-30, 1e25, 1e38, 3.4e38]
    ends = [0.0, -0.0, np.inf, -np.inf, np.nan, 3.4e38, -3.4e38, 1e-45, -1e-45, 1.2e-38, 1.0, -1.0]
    for scale in np.array([*scales, *(-np.array(scales[:5]))], "float32"):
        zero_point = int(rng.integers(limits.min, limits.max + 1))
        with np.errstate(all="ignore"):  # some overflow, or were no numbers to begin with
            ties = ((np.arange(limits.min - 2, limits.max + 3) + 0.5 - zero_point) * float(scale)).astype("float32")
            spread = rng.normal(0, 70, 999).astype("float32") * scale
        beside = (ties.view("int32")[:, np.newaxis] + np.arange(-9, 10, dtype="int32")).view("float32").ravel()
        x = np.concatenate([beside, np.repeat(np.array(ends, "float32"), 40), spread])
        plan = Converter.quantize(scale, zero_point, dtype=to)
        want = plans.quantize(x, scale, zero_point, to)
        twin.assert_same(plan(x), want, x, (scale, zero_point))
        twin.assert_same(plan(x[:50]), want[:50], x[:50], (scale, zero_point))
    # A scale a channel, and channels that are planes.
    scales = np.exp(rng.uniform(-6, 3, 5)).astype("float32")
    x = rng.normal(0, 70, (5, 4000)).astype("float32") * scales[:, np.newaxis]
    twin.assert_same(Converter.quantize(scales, 3, dtype=to, axis=0)(x), plans.quantize(x, scales, 3, to, axis=0))
    across = np.ascontiguousarray(x.T)
    twin.assert_same(
        Converter.quantize(scales, 3, dtype=to, axis=1)(across), plans.quantize(across, scales, 3, to, axis=1)
    )
