"""A script: every case must get by with under a megabyte beyond its arguments and its result. One process alone: a peak
of memory is a mark that only rises, so every array is there, and touched, before the first case."""

from __future__ import annotations

import sys

import numpy as np

from tensorbuf import ConversionError, Converter, NdArray, convert, index

LIMIT = 1_000_000
SIDE = 2048


def peak() -> int:
    """The most bytes that the process has ever had in memory.

    On Linux without those of files, such as the code of libraries: it is there once it runs for the first time, in
    pieces whose size depends on what else the machine does.
    """
    if sys.platform == "linux":
        with open("/proc/self/status") as status:
            fields = dict(line.split(":") for line in status if line.startswith(("VmHWM", "RssFile")))
        most, files = (int(fields[name].split()[0]) for name in ("VmHWM", "RssFile"))
        return (most - files) * 1024
    if sys.platform == "win32":
        import ctypes

        counters = (ctypes.c_size_t * 10)(80)
        process = ctypes.c_void_p(ctypes.windll.kernel32.GetCurrentProcess())
        ctypes.windll.psapi.GetProcessMemoryInfo(process, counters, 80)
        return counters[1]
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def check(name: str, case, result_bytes: int = 0) -> None:
    before = peak()
    result = case()
    extra = peak() - before - result_bytes
    del result
    print(f"{name}: {extra}")
    if extra >= LIMIT:
        sys.exit(f"{name} takes {extra} bytes more than its result")


def refused(x: np.ndarray, dtype: str, out: np.ndarray) -> None:
    try:
        convert(x, dtype, overflow="raise", out=out)
    except ConversionError:
        return
    raise AssertionError("nothing was refused")


def conversions() -> None:
    shape = (SIDE, SIDE)
    f4, f8, u1 = np.full(shape, 1.5, np.float32), np.full(shape, 2.5), np.full(shape, 7, np.uint8)
    i4 = f4.view(np.int32)
    half = f8.reshape(-1).view(np.float32)[: SIDE * SIDE].reshape(shape)
    misaligned = np.ones(4 * SIDE * SIDE + 1, np.uint8)[1:].view(np.float32).reshape(shape)
    swapped = f4.astype(f4.dtype.newbyteorder())
    late = np.zeros(shape, np.int16)
    late[-1, -1] = 300
    for array in (f4, f8, u1, misaligned, swapped, late):
        convert(array[:9, :9], "int16")
    convert(f4[:400, :401].T, "int32", out=i4[:401, :400])  # the code that moves items
    convert(NdArray(f4).slice(index.seq(*range(300))), "int32")  # and the one that gathers them
    check("contiguous", lambda: convert(f4, "uint8", out=u1))
    check("widening", lambda: convert(u1, "float64", out=f8))
    check("from Fortran", lambda: convert(f4.T, "float64", out=f8))
    check("to Fortran", lambda: convert(f4, "float64", out=f8.T))
    check("byte-swapped", lambda: convert(swapped, "float64", out=f8))
    check("misaligned", lambda: convert(misaligned, "float64", out=f8))
    check("strided", lambda: convert(f4[:, ::2], "float64", out=f8[:, ::-2]))
    check("columns", lambda: convert(f4[:, :1], "float64", out=f8[:, 3:4]))
    check("checked", lambda: convert(u1.T, "float64", overflow="raise", out=f8))
    check("refused", lambda: refused(late, "uint8", u1))
    check("refused, from Fortran", lambda: refused(late.T, "uint8", u1))
    check("in place", lambda: convert(f4, "int32", out=i4))
    check("narrowing in place", lambda: convert(f8, "float32", out=half))
    check("widening in place", lambda: convert(half, "float64", out=f8))
    check("shifted", lambda: convert(f4[:-1], "int32", out=i4[1:]))
    check("shifted back", lambda: convert(f4[1:], "int32", out=i4[:-1]))
    check("shifted window", lambda: convert(f4[:-1, :-1], "int32", out=i4[1:, 1:]))
    check("shifted window back", lambda: convert(f4[2:, 3:], "int32", out=i4[:-2, :-3]))
    check("Fortran in place", lambda: convert(f8.T, "float32", out=half.T))
    check("Fortran, widening in place", lambda: convert(half.T, "float64", out=f8.T))
    check("backward in place", lambda: convert(half[::-1, ::-1], "float64", out=f8[::-1, ::-1]))
    check("byte-swapped in place", lambda: convert(swapped, "float32", out=swapped.view(np.float32)))
    check("small and reversed", lambda: convert(f4[:64][::-1], "int32", out=i4[:64]))
    check("reversed", lambda: convert(f4.reshape(-1)[::-1], "int32", out=i4.reshape(-1)))
    check("rows reversed", lambda: convert(f4[::-1], "int32", out=i4))
    check("columns reversed", lambda: convert(f4[:, ::-1], "float32", out=f4))
    check("both reversed", lambda: convert(f4[::-1, ::-1], "int32", out=i4))
    check("shifted and reversed", lambda: convert(f4[:-1][::-1], "int32", out=i4[1:]))
    check("window reversed", lambda: convert(f4[9:-9, 9:-9][::-1], "int32", out=i4[9:-9, 9:-9]))
    check("every second reversed", lambda: convert(f4[::2, ::2][::-1], "int32", out=i4[::2, ::2]))
    check("gathered", lambda: convert(f4.reshape(-1)[::2][::-1], "int32", out=i4[: SIDE // 2].reshape(-1)))
    check("spread", lambda: convert(f4[: SIDE // 2].reshape(-1)[::-1], "int32", out=i4.reshape(-1)[::2]))
    check("narrowing, reversed", lambda: convert(f8[::-1], "float32", out=half))
    check("widening, reversed", lambda: convert(half[::-1], "float64", out=f8))
    check("transposed", lambda: convert(f4.T, "int32", out=i4))
    check("transposed and reversed", lambda: convert(f4.T[::-1], "float32", out=f4))
    check("narrowing, transposed", lambda: convert(f8.T, "float32", out=half))
    check("widening, transposed", lambda: convert(half.T, "float64", out=f8))
    check("window transposed", lambda: convert(f4[:-9, :-9].T, "int32", out=i4[9:, 9:]))
    check("oblong window transposed", lambda: convert(f4[:1500, :997].T, "int32", out=i4[:997, :1500]))
    check("oblong transposed", lambda: convert(f4[:1024].T, "int32", out=i4[:1024].reshape(SIDE, 1024)))
    odd, even = f4.reshape(-1)[: 2047 * 2049].reshape(2047, 2049), i4.reshape(-1)[: 2047 * 2049].reshape(2049, 2047)
    check("oblong of odd sides transposed", lambda: convert(odd.T, "int32", out=even))
    image, planes = f4[:1536].reshape(1024, 1024, 3), i4[:1536].reshape(3, 1024, 1024)
    check("HWC to CHW in place", lambda: convert(image.transpose(2, 0, 1), "int32", out=planes))
    check("CHW to HWC in place", lambda: convert(planes.transpose(1, 2, 0), "float32", out=image))
    check("rows for columns of an image", lambda: convert(image[:1000].swapaxes(0, 1), "float32", out=image[:, :1000]))
    parts = f8.reshape(-1).view(np.complex128)[: SIDE * SIDE // 4].reshape(1024, 1024)
    check("complex, transposed", lambda: convert(parts.T, "complex64", out=half[:1024].view(np.complex64)))
    check(
        "rows repeated", lambda: convert(np.broadcast_to(f4[:512], (4, 512, SIDE)), "int32", out=i4.reshape(4, 512, -1))
    )
    sliced = NdArray(f4).slice(index.seq(*range(SIDE - 1, -1, -1)))
    check("gathered by a table", lambda: convert(sliced, "float64", out=f8))
    check("gathered and checked", lambda: convert(sliced, "uint8", out=u1, overflow="raise"))
    check("written by a table", lambda: convert(f8, "float32", out=sliced))
    check("a result", lambda: convert(f4, "float64"), f8.nbytes)
    check("a result from Fortran", lambda: convert(f4.T, "float32"), f4.nbytes)


def plans() -> None:
    image = np.full((SIDE, SIDE, 3), 7, np.uint8)
    out = np.full((3, SIDE, SIDE), 1, np.float32)
    wide = np.full(image.shape, 2.5)
    normalize = Converter.normalize([0.4, 0.5, 0.6], [0.2, 0.3, 0.4], layout="HWC->CHW")
    quantize = Converter.quantize(0.1, 3)
    checked = Converter("float64", scale=0.5, layout="HWC->WHC", overflow="raise")
    for plan in (normalize, quantize, checked):
        # Large enough for every way that a plan may take, whose code is read from the disk the first time.
        plan(image[:64, :64])
    Converter.quantize(0.2)(wide[:64, :64].astype(np.float32))
    check("normalize", lambda: normalize(image, out=out))
    check("normalize float64", lambda: normalize(wide, out=out))
    check("normalize back to front", lambda: normalize(image[::-1, ::-1], out=out))
    check("quantize", lambda: quantize(wide, out=image.view(np.int8)))
    check("quantize from float32", lambda: quantize(out, out=image.view(np.int8).reshape(out.shape)))
    check("checked", lambda: checked(image, out=wide))
    weights, codes = out.reshape(3 * SIDE, SIDE), image.reshape(3 * SIDE, SIDE)
    many = Converter.quantize(np.full(3 * SIDE, 0.1), axis=0)
    back = Converter.normalize(np.full(3 * SIDE, 0.1), 0.3, layout="CW->CW")
    half = Converter("float16", scale=np.full(3 * SIDE, 0.1), offset=1, layout="CW->CW")
    check("quantize many channels", lambda: many(weights, out=codes.view(np.int8)))
    check("normalize many channels", lambda: back(codes, out=weights))
    check("scale many channels", lambda: half(codes, out=weights.view(np.float16)[:, :SIDE]))
    twice = Converter("float64", scale=2.0, offset=1.0)
    moved = Converter("float64", scale=0.5, layout="HWC->CHW")
    each = Converter.quantize([0.1, 0.2, 0.3], axis=-1)
    begin = wide.reshape(-1).view(np.uint8)[: wide.size].reshape(wide.shape)
    check("in place", lambda: twice(wide, out=wide))
    check("widening in place", lambda: twice(begin, out=wide))
    check("narrowing in place", lambda: quantize(wide, out=begin.view(np.int8)))
    check("shifted", lambda: twice(wide[:-1, :-1], out=wide[1:, 1:]))
    check("rows reversed", lambda: twice(wide[::-1], out=wide))
    check("transposed", lambda: twice(wide.swapaxes(0, 1), out=wide))
    check("to channels first", lambda: moved(wide, out=wide.reshape(out.shape)))
    floats = wide.reshape(-1).view(np.float32)[: wide.size]
    check("normalize in place", lambda: normalize(floats.reshape(wide.shape), out=floats.reshape(out.shape)))
    check("normalize in place, widening", lambda: normalize(begin, out=floats.reshape(out.shape)))
    check("normalize in place, narrowing", lambda: normalize(wide[:, ::-1], out=floats.reshape(out.shape)))
    check("quantize each channel in place", lambda: each(wide[::-1], out=begin.view(np.int8)))
    sliced = NdArray(image).slice(index.seq(*range(SIDE - 1, -1, -1)))
    check("gathered by a table", lambda: normalize(sliced, out=out))
    check(
        "written by a table",
        lambda: each(
            wide, out=NdArray(codes.view(np.int8).reshape(image.shape)).slice(index.flip(), index.seq(*range(SIDE)))
        ),
    )
    check("a result", lambda: normalize(image), out.nbytes)


if __name__ == "__main__":
    {"conversions": conversions, "plans": plans}[sys.argv[1]]()
