"""A raw stream through `tensorbuf convert - -`: its memory, and its speed beside the same on files and beside cat.

The conversion of one frame in memory, again and again, is shown too, without a bound: no pipe is as fast as that.

python bench/stream.py [GIGABYTES]      Exits 1 if a bound is missed.
"""

import os
import subprocess
import sys
import tempfile
import time

import numpy as np

from tensorbuf import Converter

CONVERT = [sys.executable, "-m", "tensorbuf", "convert", "-", "-"]
MEAN, STD = "0.485,0.456,0.406", "0.229,0.224,0.225"
NORMALIZE = Converter.normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225], layout="HWC->CHW")

# Name, shape and type of a frame, options, and the same as a Converter.
JOBS = (
    (
        "uint8 1080p, normalised to float32 CHW",
        (1080, 1920, 3),
        "uint8",
        ["--to", "float32", "--layout", "HWC:CHW", "--mean", MEAN, "--std", STD],
        NORMALIZE,
    ),
    ("float32 224x224x3 to uint8", (224, 224, 3), "float32", ["--to", "uint8"], Converter("uint8")),
)


def stream(command, nbytes):
    """Seconds of `nbytes` through pipes into `command` and on into a reader, and the peak of its memory in MB."""
    start = time.perf_counter()
    source = subprocess.Popen(["head", "-c", str(nbytes), "/dev/zero"], stdout=subprocess.PIPE)
    job = subprocess.Popen(command, stdin=source.stdout, stdout=subprocess.PIPE)
    sink = subprocess.Popen(["cat"], stdin=job.stdout, stdout=subprocess.DEVNULL)
    source.stdout.close()
    job.stdout.close()
    _, status, usage = os.wait4(job.pid, 0)
    job.returncode = os.waitstatus_to_exitcode(status)
    if job.returncode or source.wait() or sink.wait():
        raise SystemExit(f"{command} failed")
    return time.perf_counter() - start, usage.ru_maxrss / 1000


def from_file_to_file(command, frame, count):
    """Seconds of the same conversion without pipes, in memory that stands for a disk where there is such."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        source, target = os.path.join(folder, "in.raw"), os.path.join(folder, "out.raw")
        with open(source, "wb") as file:
            for _ in range(count):
                file.write(frame.data)
        words = [{"-": source}.get(word, word) for word in command]
        words[words.index(source) + 1] = target
        start = time.perf_counter()
        subprocess.run(words, check=True)
        return time.perf_counter() - start


def alone(converter, frame, count):
    """Seconds of the conversion of `count` frames in this process."""
    out = converter(frame)
    start = time.perf_counter()
    for _ in range(count):
        converter(frame, out=out)
    return time.perf_counter() - start


def main():
    nbytes = int(float(sys.argv[1]) * 1e9) if len(sys.argv) > 1 else 2_000_000_000
    met = True
    for name, shape, dtype, options, converter in JOBS:
        frame = np.zeros(shape, dtype)
        count = nbytes // frame.nbytes
        total = count * frame.nbytes
        result = converter(frame).nbytes * count
        command = [*CONVERT, "--from", dtype, "--shape", ",".join(map(str, shape)), *options]
        seconds, memory = stream(command, total)
        fewer = max(1, count // 4)
        files = from_file_to_file(command, frame, fewer) * count / fewer
        cat = stream(["cat"], total)[0] + stream(["cat"], result)[0]
        print(f"{name}: {total / 1e9:.2f} GB in, {result / 1e9:.2f} GB out, {seconds:.2f} s")
        for what, value, bound in (
            ("peak memory, MB", memory, 100),
            ("times the same on files", seconds / files, 2),
            ("times cat of input and output", seconds / cat, 1.5),
        ):
            met = met and value <= bound
            print(f"  {what:30} {value:8.2f}   <= {bound}  {'met' if value <= bound else 'MISSED'}")
        print(f"  {'times the arithmetic in memory':30} {seconds / alone(converter, frame, count):8.2f}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
