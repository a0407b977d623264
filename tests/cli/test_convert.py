"""`tensorbuf convert` of one array: formats, options, and the errors of each."""

import sys

import numpy as np
import pytest
from command import fail, succeed

from tensorbuf.cli.main import run as run_here

PIXELS = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
RAW = ("--from", "uint8", "--shape", "2,4,3")


@pytest.fixture
def pixels(tmp_path):
    np.save(tmp_path / "in.npy", PIXELS)
    return tmp_path / "in.npy"


def convert(source, *options):
    """The result of a conversion to `out.npy`, in this process."""
    target = source.parent / "out.npy"
    assert run_here(["convert", str(source), str(target), *options, "--force"]) == 0
    return np.load(target)


def test_npy_to_npy(pixels, tmp_path):
    assert succeed("convert", pixels, tmp_path / "out.npy", "--to", "float32") == b""
    out = np.load(tmp_path / "out.npy")
    assert out.dtype == np.float32
    assert np.array_equal(out, PIXELS)


def test_npy_to_standard_output(pixels):
    assert succeed("convert", pixels, "-", "--to", "uint16") == PIXELS.astype("=u2").tobytes()


def test_raw_file_to_raw_file(tmp_path):
    (tmp_path / "in.rgb").write_bytes(PIXELS.tobytes())
    succeed("convert", tmp_path / "in.rgb", tmp_path / "out.raw", "--to", "int32", *RAW)
    assert (tmp_path / "out.raw").read_bytes() == PIXELS.astype("=i4").tobytes()


def test_standard_input_to_npy_keeps_the_shape_of_one_frame(tmp_path):
    succeed("convert", "-", tmp_path / "out.npy", "--to", "float64", *RAW, data=PIXELS.tobytes())
    out = np.load(tmp_path / "out.npy")
    assert out.shape == (2, 4, 3)
    assert np.array_equal(out, PIXELS)


def test_standard_input_to_standard_output():
    layout = ("--layout", "HWC:CHW")
    out = succeed("convert", "-", "-", "--to", "uint8", *RAW, *layout, data=PIXELS.tobytes())
    assert out == PIXELS.transpose(2, 0, 1).tobytes()


def test_raw_input_of_the_other_byte_order():
    values = np.array([1.5, -2, 300], ">f4")
    out = succeed("convert", "-", "-", "--to", "uint8", "--from", ">f4", "--shape", "3", data=values.tobytes())
    assert list(out) == [1, 0, 255]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", ["<i2", ">i2"])
def test_npy_input_of_any_order(tmp_path, name, order):
    array = np.asarray(np.arange(-12, 12).reshape(2, 3, 4).astype(name), order=order)
    np.save(tmp_path / "in.npy", array)
    assert np.array_equal(convert(tmp_path / "in.npy", "--to", "float32"), array)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (1, 4), (3, 0, 2), (0, 5)])
def test_npy_input_keeps_its_shape(tmp_path, shape):
    np.save(tmp_path / "in.npy", np.ones(shape, np.float64))
    out = convert(tmp_path / "in.npy", "--to", "int16")
    assert out.shape == shape
    assert out.dtype == np.int16
    assert (out == 1).all()


def test_npy_input_longer_than_a_block(tmp_path):
    array = np.arange(3_000_000, dtype=np.uint32).reshape(1000, 1000, 3)
    np.save(tmp_path / "in.npy", array)
    assert np.array_equal(convert(tmp_path / "in.npy", "--to", "int64"), array)
    moved = convert(tmp_path / "in.npy", "--to", "int64", "--layout", "HWC:CHW")
    assert np.array_equal(moved, array.transpose(2, 0, 1))


def test_affine(tmp_path):
    np.save(tmp_path / "in.npy", np.array([1, 2, 3], np.float32))
    out = convert(tmp_path / "in.npy", "--to", "float32", "--scale", "0.1", "--offset", "0.2")
    assert out.tolist() == [0.30000001192092896, 0.4000000059604645, 0.5]
    out = convert(tmp_path / "in.npy", "--to", "float32", "--offset", "-3.5")
    assert out.tolist() == [-2.5, -1.5, -0.5]


def test_affine_by_channel(pixels):
    out = convert(pixels, "--to", "int16", "--scale", "1,10,100")
    assert np.array_equal(out, PIXELS.astype(np.int16) * [1, 10, 100])
    out = convert(pixels, "--to", "int16", "--scale", "1,10,100", "--layout", "HWC:CHW")
    assert np.array_equal(out, (PIXELS.astype(np.int16) * [1, 10, 100]).transpose(2, 0, 1))


def test_affine_by_channel_where_the_channels_are_the_only_axis(tmp_path):
    np.save(tmp_path / "in.npy", np.array([1, 2, 3], np.uint8))
    assert convert(tmp_path / "in.npy", "--to", "int16", "--offset", "1,10,100").tolist() == [2, 12, 103]


def test_normalize(tmp_path):
    np.save(tmp_path / "in.npy", np.array([0, 1, 127, 128, 255], np.uint8))
    out = convert(tmp_path / "in.npy", "--to", "float32", "--mean", "0.485", "--std", "0.229")
    assert out.view(np.uint32).tolist() == [0xC0078BBD, 0xC006732B, 0x3D6939A6, 0x3D97AF32, 0x400FEE1D]
    out = convert(tmp_path / "in.npy", "--to", "float32", "--mean", "10", "--std", "2", "--divide-by", "1")
    assert out.tolist() == [-5, -4.5, 58.5, 59, 122.5]


def test_normalize_by_channel_and_layout(pixels):
    how = ("--to", "float32", "--mean", "0,1,2", "--std", "1,2,4", "--divide-by", "1")
    wanted = ((PIXELS - np.array([0.0, 1, 2])) / [1, 2, 4]).transpose(2, 0, 1)
    assert np.array_equal(convert(pixels, *how, "--layout", "HWC:CHW"), wanted)


def test_quantize(tmp_path):
    np.save(tmp_path / "in.npy", np.array([0.5, 1.5, 2.5, -1.5, 126.5, 1e30, -128.5, np.nan], np.float32))
    out = convert(tmp_path / "in.npy", "--to", "int8", "--quantize", "1.0,1")
    assert out.tolist() == [1, 3, 3, -1, 127, 127, -127, 0]
    out = convert(tmp_path / "in.npy", "--to", "int8", "--quantize", "1.0,0", "--rounding", "nearest_away")
    assert out.tolist() == [1, 2, 3, -2, 127, 127, -128, 0]


def test_rounding_overflow_and_nan_go_with_every_arithmetic(tmp_path):
    np.save(tmp_path / "in.npy", np.array([2.5, -2.5, 300, np.nan], np.float32))
    source = tmp_path / "in.npy"
    rule = ("--to", "uint8", "--rounding", "ceil", "--overflow", "wrap", "--nan", "9")
    for arithmetic in (
        ["--scale", "1"],
        ["--mean", "0", "--std", "1", "--divide-by", "1"],
        ["--quantize", "1,0"],
        ["--dequantize", "1,0"],
    ):
        assert convert(source, *arithmetic, *rule).tolist() == [3, 254, 44, 9]
        assert run_here(["convert", str(source), "-", *arithmetic, "--to", "uint8", "--overflow", "raise"]) == 1


def test_a_shape_is_refused_as_it_was_given(here, tmp_path):
    (tmp_path / "a.raw").write_bytes(bytes(24))
    np.save(tmp_path / "a.npy", np.zeros((2, 4, 3)))
    raw = ("convert", tmp_path / "a.raw", "-", "--from", "uint8", "--shape", "2,4,3", "--to", "float32")
    array = ("convert", tmp_path / "a.npy", "-", "--to", "float32")
    for words in (raw, array):
        line = here.fail(1, *words, "--scale", "1,2")
        assert line == "tensorbuf: axis 2 of shape (2, 4, 3) has 3 channels, the parameters have 2 values\n"
        line = here.fail(1, *words, "--layout", "NHWC:NCHW")
        assert line == "tensorbuf: layout NHWC->NCHW needs rank 4, got shape (2, 4, 3)\n"


def test_quantize_with_a_layout(pixels):
    out = convert(pixels, "--to", "int8", "--quantize", "0.5,-10", "--layout", "HWC:CHW")
    assert np.array_equal(out, PIXELS.transpose(2, 0, 1) * 2.0 - 10)


def test_dequantize(tmp_path):
    np.save(tmp_path / "in.npy", np.array([-128, -1, 0, 127], np.int8))
    out = convert(tmp_path / "in.npy", "--to", "float32", "--dequantize", "0.1,3")
    assert out.tolist() == [-13.100000381469727, -0.4000000059604645, -0.30000001192092896, 12.40000057220459]


def test_rounding_overflow_and_nan(tmp_path):
    np.save(tmp_path / "in.npy", np.array([2.5, -2.5, 300, np.nan], np.float32))
    source = tmp_path / "in.npy"
    assert convert(source, "--to", "int8").tolist() == [2, -2, 127, 0]
    for rounding, low, high in [("nearest", -2, 2), ("nearest_away", -3, 3), ("floor", -3, 2), ("ceil", -2, 3)]:
        assert convert(source, "--to", "int8", "--rounding", rounding).tolist() == [high, low, 127, 0]
    assert convert(source, "--to", "int8", "--overflow", "wrap").tolist() == [2, -2, 300 - 256, 0]
    assert convert(source, "--to", "int8", "--nan", "-7").tolist() == [2, -2, 127, -7]


def test_a_value_that_does_not_fit_is_named_and_nothing_is_written(here, tmp_path):
    np.save(tmp_path / "in.npy", np.array([[1, 2], [3, 300]], np.int16))
    line = here.fail(1, "convert", tmp_path / "in.npy", tmp_path / "out.npy", "--to", "uint8", "--overflow", "raise")
    assert "300" in line
    assert not (tmp_path / "out.npy").exists()


def test_an_existing_output_is_replaced_only_with_force(pixels, tmp_path):
    (tmp_path / "out.raw").write_bytes(b"old")
    assert "--force" in fail(1, "convert", pixels, tmp_path / "out.raw", "--to", "uint8")
    assert (tmp_path / "out.raw").read_bytes() == b"old"
    succeed("convert", pixels, tmp_path / "out.raw", "--to", "uint8", "--force")
    assert (tmp_path / "out.raw").read_bytes() == PIXELS.tobytes()


def test_a_file_can_be_converted_into_itself(here, pixels):
    here.succeed("convert", pixels, pixels, "--to", "float32", "--force")
    assert np.load(pixels).dtype == np.float32
    assert np.array_equal(np.load(pixels), PIXELS)


def test_bfloat16_survives_npy(pixels, tmp_path):
    assert run_here(["convert", str(pixels), str(tmp_path / "b.npy"), "--to", "bfloat16"]) == 0
    assert np.load(tmp_path / "b.npy").dtype.name == "bfloat16"
    assert np.array_equal(convert(tmp_path / "b.npy", "--to", "float32"), PIXELS)


def test_a_member_of_an_npz(here, tmp_path):
    np.savez(tmp_path / "two.npz", a=PIXELS, b=np.array([7]))
    np.savez_compressed(tmp_path / "one.npz", x=PIXELS)
    here.succeed("convert", f"{tmp_path}/two.npz:a", tmp_path / "out.npy", "--to", "int32")
    assert np.array_equal(np.load(tmp_path / "out.npy"), PIXELS)
    here.succeed("convert", tmp_path / "one.npz", tmp_path / "out.raw", "--to", "uint8")
    assert (tmp_path / "out.raw").read_bytes() == PIXELS.tobytes()
    assert "one.npz" in here.fail(1, "convert", f"{tmp_path}/one.npz:y", "-", "--to", "uint8")
    assert "two.npz:a" in here.fail(2, "convert", tmp_path / "two.npz", "-", "--to", "uint8")


def test_a_described_input_must_be_what_the_options_say(pixels, capsys):
    how = ["convert", str(pixels), "-", "--to", "uint8"]
    assert convert(pixels, "--to", "uint8", "--from", ">u1", "--shape", "2,4,3").shape == (2, 4, 3)
    assert run_here([*how, "--from", "uint8", "--shape", "2,4,4"]) == 1
    assert "(2, 4, 3)" in capsys.readouterr().err
    assert run_here([*how, "--from", "int8"]) == 1
    assert "uint8" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content", [b"", b"\x93NUMPY", b"\x80\x04N.", b"text", np.lib.format.magic(1, 0) + b"\xff\xff{"], ids=str
)
def test_damaged_npy_and_npz_files(here, tmp_path, content):
    for suffix in ("npy", "npz"):
        path = tmp_path / f"in.{suffix}"
        path.write_bytes(content)
        assert str(path) in here.fail(1, "convert", path, tmp_path / "out.raw", "--to", "uint8")
    assert not (tmp_path / "out.raw").exists()


def test_nothing_is_unpickled(here, tmp_path):
    np.save(tmp_path / "in.npy", np.array([{}], object), allow_pickle=True)
    here.fail(1, "convert", tmp_path / "in.npy", "-", "--to", "uint8")


def test_shapes_that_do_not_fit(here, pixels, tmp_path):
    for options in (["--layout", "NHWC:NCHW"], ["--scale", "1,2"], ["--layout", "CHW:HWC", "--scale", "1,2,3"]):
        here.fail(1, "convert", pixels, tmp_path / "out.npy", "--to", "int8", *options)
    assert not (tmp_path / "out.npy").exists()
    assert "NHWC->NCHW" in here.fail(1, "convert", "-", "-", "--to", "int8", *RAW, "--layout", "NHWC:NCHW")


def test_missing_files_and_folders(here, pixels, tmp_path):
    for source in (
        tmp_path / "none.npy",
        tmp_path / "none.raw",
        tmp_path / "none.png",
        tmp_path / "none.npz",
        tmp_path,
    ):
        assert str(source) in here.fail(1, "convert", source, tmp_path / "out.npy", "--to", "int8", *RAW)
    assert "none" in here.fail(1, "convert", pixels, tmp_path / "none" / "out.npy", "--to", "int8")
    here.fail(1, "convert", pixels, tmp_path, "--to", "int8")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "command"),
        (["unheard"], "unheard"),
        (["convert"], "IN"),
        (["convert", "a.npy"], "OUT"),
        (["convert", "a.npy", "b.npy"], "--to"),
        (["convert", "", "b.npy", "--to", "uint8"], "IN"),
        (["convert", "a.npy", "", "--to", "uint8"], "OUT"),
        (["convert", "a.npy", "b.npy", "--to", "float33"], "float33"),
        (["convert", "a.npy", "b.npy", "--to", "string"], "string"),
        (["convert", "a.npy", "b.npy", "--to", "object"], "object"),
        (["convert", "a.npy", "b.npy", "--to", "uint8", "--unheard"], "--unheard"),
        (["convert", "a.npy", "b.npy", "c.npy", "--to", "uint8"], "c.npy"),
        (["convert", "a.raw", "b.npy", "--to", "uint8"], "--from"),
        (["convert", "a.raw", "b.npy", "--to", "uint8", "--from", "uint8"], "--shape"),
        (["convert", "-", "-", "--to", "uint8", "--shape", "3"], "--from"),
    ],
)
def test_usage(here, words, named):
    assert named in here.fail(2, *words)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--shape", "3,x"], "3,x"),
        (["--shape", "3,0"], "3,0"),
        (["--shape", "-3"], "-3"),
        (["--shape", "3,,3"], "3,,3"),
        (["--from", "text"], "text"),
        (["--layout", "HWC"], "HWC"),
        (["--layout", "HWC:CH"], "CH"),
        (["--layout", "HHC:CHH"], "HHC"),
        (["--layout", "HWC:CHW", "--layout", "HWC:HWD"], "HWD"),
        (["--scale", "much"], "much"),
        (["--scale", "1,"], "1,"),
        (["--scale", "1,2", "--offset", "1,2,3"], "3"),
        (["--mean", "1"], "--std"),
        (["--std", "1"], "--mean"),
        (["--divide-by", "2"], "--mean"),
        (["--scale", "1", "--mean", "1", "--std", "1"], "--mean"),
        (["--quantize", "1,0", "--dequantize", "1,0"], "--dequantize"),
        (["--offset", "1", "--quantize", "1,0"], "--quantize"),
        (["--quantize", "1"], "2"),
        (["--quantize", "1,2,3"], "3"),
        (["--quantize", "0.5,none"], "none"),
        (["--quantize", "1,0", "--to", "float32"], "float32"),
        (["--nan", "nan"], "NaN"),
        (["--rounding", "up"], "up"),
        (["--overflow", "explode"], "explode"),
        (["--nan", "none"], "none"),
        (["--to", ">i4"], "byte order"),
        (["--to", "complex64", "--scale", "2"], "complex"),
    ],
)
def test_usage_of_options(here, pixels, options, named):
    assert named in here.fail(2, "convert", pixels, "-", "--to", "int8", *options)


def test_help_and_version():
    for words in (["--help"], ["convert", "-h"]):
        assert b"Usage: tensorbuf" in succeed(*words)
    assert succeed("--version").startswith(b"tensorbuf ")


def test_npz_output(here, pixels, tmp_path):
    here.succeed("convert", pixels, f"{tmp_path}/out.npz:x", "--to", "float32")
    with np.load(tmp_path / "out.npz") as archive:
        assert list(archive) == ["x"]
        assert np.array_equal(archive["x"], PIXELS)
    data = bytes(range(48))
    (tmp_path / "in.raw").write_bytes(data)
    here.succeed("convert", tmp_path / "in.raw", tmp_path / "two.npz", "--to", "int16", *RAW)
    with np.load(tmp_path / "two.npz") as archive:
        assert archive["arr_0"].shape == (2, 2, 4, 3)
        assert archive["arr_0"].tobytes() == np.arange(48, dtype=np.int16).tobytes()
    assert "--force" in here.fail(1, "convert", pixels, f"{tmp_path}/two.npz:b", "--to", "int8")


def test_frames_into_npz(tmp_path, here):
    for count, shape in [(0, (0, 2, 3)), (1, (2, 3)), (3, (3, 2, 3))]:
        (tmp_path / "in.raw").write_bytes(bytes(range(6 * count)))
        how = ("--to", "int16", "--from", "uint8", "--shape", "2,3", "--force")
        here.succeed("convert", tmp_path / "in.raw", tmp_path / "out.npz", *how)
        with np.load(tmp_path / "out.npz") as archive:
            assert archive["arr_0"].shape == shape
            assert np.array_equal(archive["arr_0"].reshape(-1), np.arange(6 * count))


def test_without_safetensors_the_extra_is_named(tmp_path, here, monkeypatch):
    header = b'{"a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}}'
    (tmp_path / "a.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"ab")
    monkeypatch.setitem(sys.modules, "safetensors", None)
    assert "tensorbuf[safetensors]" in here.fail(1, "convert", tmp_path / "a.safetensors", "-", "--to", "int8")
    np.save(tmp_path / "in.npy", PIXELS)
    assert "tensorbuf[safetensors]" in here.fail(
        1, "convert", tmp_path / "in.npy", tmp_path / "b.safetensors", "--to", "int8"
    )
    assert not (tmp_path / "b.safetensors").exists()
