"""torch: both ways through to_torch, DLPack and every place that takes an array."""

import gc
import warnings

import numpy as np
import pytest
import torch

from tensorbuf import (
    DataType,
    NdArray,
    ShapedArray,
    TensorBuffer,
    bitcast,
    cast,
    convert,
    from_dlpack,
    from_memory,
    frombuffer,
    index,
    saturate_cast,
)
from tensorbuf.dtypes import read_dtype

NUMERIC = [kind for kind in DataType if kind is not DataType.STRING]


def shares(tensor, facade):
    return tensor.numel() == 0 or tensor.data_ptr() == facade.to_numpy().ctypes.data


@pytest.mark.parametrize("kind", NUMERIC)
def test_every_type_both_ways(kind):
    owner = bytearray(range(1, 33))
    facade = frombuffer(owner, dtype=kind)
    tensor = facade.to_torch()
    assert tensor.dtype == getattr(torch, kind.value)
    assert tensor.device.type == "cpu"
    assert shares(tensor, facade)
    back = NdArray(tensor)
    assert back.dtype == kind.numpy_dtype
    assert shares(tensor, back)
    assert back.to_numpy().tobytes() == bytes(owner) or kind is DataType.BOOL
    assert read_dtype(tensor.dtype) == kind.numpy_dtype
    assert frombuffer(owner, dtype=tensor.dtype).dtype == kind.numpy_dtype
    for taken in (torch.from_dlpack(facade), torch.utils.dlpack.from_dlpack(facade.__dlpack__())):
        assert taken.dtype == tensor.dtype
        assert taken.data_ptr() == tensor.data_ptr()
    assert from_dlpack(tensor).dtype == kind.numpy_dtype


def test_writes_go_through():
    owner = bytearray(8)
    tensor = frombuffer(owner, dtype="int32").to_torch()
    tensor[1] = -1
    assert owner[4:] == b"\xff" * 4
    NdArray(tensor)[0] = -1
    assert owner == b"\xff" * 8


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (2, 3)])
def test_shapes(shape):
    facade = NdArray(np.zeros(shape, "float32"))
    tensor = facade.to_torch()
    assert tuple(tensor.shape) == shape
    assert NdArray(tensor).shape == shape


BASE = np.arange(24, dtype="int32").reshape(4, 6)
OBSTACLES = {
    "reversed": NdArray(BASE).slice(index.flip()),
    "misaligned": frombuffer(b"0" + BASE.tobytes(), dtype="int32", offset=1),
    "misaligned rows": from_memory(bytearray(100), (3, 2), "int32", row_stride=9),
    "swapped": NdArray(BASE.astype(BASE.dtype.newbyteorder("S"))),
    "read-only": frombuffer(b"12345678", dtype="int32"),
    "index table": NdArray(BASE).slice(index.seq(3, 0)),
    "ShapedArray": ShapedArray([[1, 2], [3, 4]]),
}


@pytest.mark.parametrize("name", OBSTACLES)
def test_what_torch_gets_as_a_copy(name):
    facade = OBSTACLES[name]
    before = np.array(facade)
    tensor = facade.to_torch()
    assert torch.equal(tensor, torch.tensor(before.tolist(), dtype=tensor.dtype))
    tensor += 1
    assert (np.asarray(facade) == before).all()
    with pytest.raises(BufferError):
        facade.to_torch(copy=False)


def test_copies_on_request():
    facade = NdArray(BASE)
    assert not shares(facade.to_torch(copy=True), facade)
    assert shares(facade.to_torch(copy=False), facade)
    strided = facade.slice(index.all(), index.even())
    assert strided.to_torch(copy=False).stride() == (6, 2)
    transposed = NdArray(BASE.T)
    assert transposed.to_torch(copy=False).stride() == (1, 6)


def test_every_facade():
    buffer = TensorBuffer.create_fixed_size((2, 2), "bfloat16")
    assert shares(buffer.to_torch(), buffer)
    assert buffer.to_torch().dtype == torch.bfloat16
    assert ShapedArray([1.0, 2.0])[0].to_torch().item() == 1.0
    with pytest.raises(TypeError):
        NdArray(["text"]).to_torch()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64", "float64"])
def test_requires_grad(dtype):
    owner = bytearray(16)
    leaf = frombuffer(owner, dtype=dtype, requires_grad=True)
    tensor = leaf.to_torch()
    assert tensor.requires_grad
    assert tensor.is_leaf
    assert shares(tensor, leaf)
    assert leaf[:1].to_torch().requires_grad
    assert not frombuffer(owner, dtype=dtype).to_torch().requires_grad
    tensor.abs().sum().backward()
    assert tensor.grad is not None
    read_only = frombuffer(bytes(16), dtype=dtype, requires_grad=True).to_torch()
    assert read_only.requires_grad


def test_the_owner_stays_locked_by_a_tensor():
    owner = bytearray(16)
    for make in (
        lambda: frombuffer(owner, dtype="float32").to_torch(),
        lambda: frombuffer(owner, dtype="float32").to_torch()[1:].view(torch.int32),
        lambda: torch.from_dlpack(frombuffer(owner, dtype="bfloat16")),
        lambda: NdArray(frombuffer(owner, dtype="float32").to_torch()),
        lambda: frombuffer(owner, dtype="float32", requires_grad=True).to_torch(),
    ):
        held = make()
        gc.collect()
        with pytest.raises(BufferError):
            owner.append(1)
        del held
        gc.collect()
        owner.append(1)
        owner.pop()


def test_tensors_of_every_sort():
    values = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    for tensor in (
        values,
        values.T,
        values[::2, 1:],
        values.clone().requires_grad_(),
        torch.nn.Parameter(values.clone()),
    ):
        array = NdArray(tensor)
        assert array.tolist() == tensor.tolist()
        assert array.to_numpy().ctypes.data == tensor.data_ptr()
    complex_ = torch.tensor([1 + 2j, 3 - 1j])
    assert NdArray(complex_.conj()).tolist() == [1 - 2j, 3 + 1j]
    assert NdArray(complex_.conj().imag).tolist() == [-2.0, 1.0]


def test_tensors_that_are_refused():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantized = torch.quantize_per_tensor(torch.zeros(2), 0.1, 0, torch.quint8)
    for tensor in (torch.zeros(2, device="meta"), torch.eye(2).to_sparse(), quantized):
        with pytest.raises(TypeError):
            NdArray(tensor)


def test_tensors_are_no_bytes():
    tensor = torch.zeros(4)
    buffer = TensorBuffer.create_fixed_size((4,), "float32")
    for call in (
        lambda: frombuffer(tensor, dtype="float32"),
        lambda: from_memory(tensor, 4, "float32"),
        lambda: buffer.load_buffer(tensor),
    ):
        with pytest.raises(TypeError):
            call()


def test_what_goes_in_comes_out():
    tensor = torch.tensor([1.9, -1.9, 300.0])
    for function in (convert, cast, saturate_cast):
        result = function(tensor, torch.int8)
        assert type(result) is torch.Tensor
        assert result.dtype == torch.int8
    assert convert(tensor, "uint8").tolist() == [1, 0, 255]
    out = torch.zeros(3, dtype=torch.int16)
    assert convert(tensor, "int16", out=out) is out
    assert out.tolist() == [1, -1, 300]
    bits = bitcast(tensor, torch.int32)
    assert type(bits) is torch.Tensor
    assert bits.data_ptr() == tensor.data_ptr()
    assert torch.equal(bits, tensor.view(torch.int32))
    assert bitcast(torch.tensor([1.0], dtype=torch.bfloat16), "int16").tolist() == [0x3F80]


def test_tensors_load_everywhere():
    tensor = torch.tensor([[1.5, 2.5]], dtype=torch.bfloat16)
    buffer = TensorBuffer.create_fixed_size((1, 2), "float32")
    buffer.load_array(tensor)
    assert list(buffer) == [1.5, 2.5]
    assert ShapedArray(tensor).scalars.tolist() == [1.5, 2.5]
    assert NdArray([tensor[0], [3, 4]]).tolist() == [[1.5, 2.5], [3.0, 4.0]]
    assert convert([torch.tensor(5), 6], "uint8").tolist() == [5, 6]


@pytest.mark.parametrize("dtype", [torch.quint8, torch.qint8, torch.qint32, torch.complex32, torch.float8_e4m3fnuz])
def test_dtypes_that_are_none_of_ours(dtype):
    for call in (lambda: DataType.of(dtype), lambda: frombuffer(bytearray(8), dtype=dtype)):
        with pytest.raises(TypeError):
            call()


def test_torch_itself_reads_what_we_write():
    assert torch.frombuffer(frombuffer(bytearray(b"\0\0\x80?"), dtype="uint8"), dtype=torch.float32).item() == 1.0
