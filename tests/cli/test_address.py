"""Arguments as places."""

import pytest

from tensorbuf.cli.address import Address, Format


@pytest.mark.parametrize(
    ("text", "path", "member", "form"),
    [
        ("a.npy", "a.npy", None, Format.NPY),
        ("A.NPY", "A.NPY", None, Format.NPY),
        ("dir/a.npz", "dir/a.npz", None, Format.NPZ),
        ("a.npz:loss", "a.npz", "loss", Format.NPZ),
        ("a.npz:", "a.npz", "", Format.NPZ),
        (r"C:\data\a.npz:x:y", r"C:\data\a.npz", "x:y", Format.NPZ),
        ("m.safetensors:layer.0/weight", "m.safetensors", "layer.0/weight", Format.SAFETENSORS),
        ("photo.JPG", "photo.JPG", None, Format.IMAGE),
        ("frame.png", "frame.png", None, Format.IMAGE),
        ("frame.rgb", "frame.rgb", None, Format.RAW),
        ("frame", "frame", None, Format.RAW),
        (".npy", ".npy", None, Format.RAW),
        ("frame:2.raw", "frame:2.raw", None, Format.RAW),
        ("-", "-", None, Format.RAW),
    ],
)
def test_the_suffix_says_what_it_is(text: str, path: str, member: str | None, form: Format) -> None:
    address = Address.of(text)
    assert (address.path, address.member, address.format) == (path, member, form)
    assert address.is_standard_stream == (text == "-")
