"""Partners that are missing: one sentence, which names the command that installs them."""

import sys

import numpy as np
import pytest

import tensorbuf.dask
import tensorbuf.ray
import tensorbuf.torch
from tensorbuf import Converter, NdArray, load, ndarrays, save
from tensorbuf.cli.images import pillow
from tensorbuf.doors.partner import partner

ARRAY = NdArray(np.zeros((2, 2), "float32"))
PLAN = Converter("int8")

MISSING = {
    "dask": (lambda path: tensorbuf.dask.convert(ARRAY, PLAN), "tensorbuf.dask needs dask", "dask"),
    "ray": (lambda path: tensorbuf.ray.convert(ARRAY, PLAN), "tensorbuf.ray needs ray", "ray"),
    "torch": (lambda path: tensorbuf.torch.collate_fn([ARRAY]), "tensorbuf.torch needs torch", "torch"),
    "torch of to_torch": (lambda path: ARRAY.to_torch(), "to_torch needs torch", "torch"),
    "pyarrow": (lambda path: ARRAY.to_arrow(), "to_arrow from rank 2 on needs pyarrow", "arrow"),
    "safetensors": (lambda path: save(path, ARRAY), "a .safetensors file needs safetensors", "safetensors"),
    "safetensors of load": (lambda path: load(path), "a .safetensors file needs safetensors", "safetensors"),
    "scipy": (lambda path: ndarrays.sparse_of([[0, 0]], [1.0], (2, 2)).to_scipy(), "to_scipy needs scipy", "scipy"),
    "PIL": (lambda path: pillow(), "a picture needs Pillow", "images"),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_partner(name, monkeypatch, tmp_path):
    package = name.split()[0]
    for module in (package, *(module for module in sys.modules if module.startswith(f"{package}."))):
        monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / "x.safetensors").touch()
    call, needs, extra = MISSING[name]
    with pytest.raises(ImportError) as caught:
        call(tmp_path / "x.safetensors")
    assert str(caught.value) == f"{needs}: pip install 'tensorbuf[{extra}]'"


def test_what_a_partner_lacks_itself(monkeypatch, tmp_path):
    (tmp_path / "half_a_partner.py").write_text("import what_it_needs.too")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"^this needs what_it_needs: pip install 'tensorbuf\[half\]'$"):
        partner("half_a_partner", "this", "half")


def test_a_partner_that_is_there():
    assert partner("os.path", "this", "os") is __import__("os").path
