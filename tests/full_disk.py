"""A disk that is full: a process whose files may not grow beyond 8 kB."""

import subprocess
import sys
from pathlib import Path

_CODE = """
import errno, os, sys
import numpy as np
from tensorbuf import save
folder, path = sys.argv[1], os.path.join(*sys.argv[1:])
save(path, [1])
before = os.stat(path).st_size
try:
    save(path, np.arange(10000))
except OSError as error:
    assert (error.errno, error.filename, error.strerror) == (errno.EFBIG, path, os.strerror(errno.EFBIG)), error
else:
    raise AssertionError("it was written")
assert os.listdir(folder) == [sys.argv[2]] and os.stat(path).st_size == before
"""


def check_that_saving_fails(folder: Path, name: str) -> None:
    """`save` there must be an error with the name of the file, and leave the old one as it was."""
    script = 'ulimit -f 8; "$0" -c "$1" "$2" "$3"'
    subprocess.run(["bash", "-c", script, sys.executable, _CODE, str(folder), name], check=True, timeout=300)
