# Everything that make needs it puts into one folder, $(VENV): the tools, the build and the installed package.
# Remove the folder to start afresh. Only Python >= 3.11, a C compiler and make must be there.
#
#   make demo            the main job on the sample photograph
#   make test            the suite, the doctests, and the conversions at each instruction-set level
#   make test-interop    the doors and the engines, with torch, Arrow, safetensors, scipy, LiteRT, JAX, Dask, Ray, TensorFlow
#   make dev             an editable install that rebuilds on import
#   make lint            ruff, cython-lint, codespell, mypy and stubtest
#   make docs            the pages, into docs/_build
#   make bench           this machine's table against the peers
#   make curves          the time an element by size, measured and drawn into docs/pictures
#   make proof           the long proofs
#   make vectors         whether GCC makes vectors of the kernels' loops, by its own report
#   make test-checks     the suite with Cython's checks compiled in
#   make sanitize        the suite under AddressSanitizer and UBSan, and two planted faults that they must find
#   make dist            sdist, a wheel built from it, and the suite against that wheel
#
#   PYTHON=python3.12    the interpreter          VENV=.venv-3.12    the folder
#   PYTEST_ARGS="-k cast -x"                      more arguments for pytest
#   BENCH_ARGS="--rows 1,8 --json table.json"     more arguments for the table

PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?=
BENCH_ARGS ?=
WORKERS ?= auto
SETUP_ARGS ?=
MARKS ?= not proof
# What runs at the other levels than the best.
LEVEL_MARKS ?= levels

venv := $(abspath $(VENV))
python := $(venv)/bin/python
pip := $(python) -m pip --disable-pip-version-check install -qq
pytest = $(python) -m pytest -n $(WORKERS) -m "$(MARKS)" $(PYTEST_ARGS)
install = $(pip) --no-build-isolation -Cbuild-dir=$(venv)/build$(1) $(SETUP_ARGS:%=-Csetup-args=%)

# Tests, child processes included, import the installed package and not the folder that they stand beside.
export PYTHONSAFEPATH := 1
# The build calls meson, ninja and cython by name.
export PATH := $(venv)/bin:$(PATH)

.PHONY: demo test test-suite test-levels test-interop interop-suite proof vectors test-checks sanitize sanitize-suite \
  sanitize-planted dist dev lint style types docs bench bench-table curves bench-curves install
.DELETE_ON_ERROR:

demo: install
	$(python) -m tensorbuf demo

test: test-suite test-levels

# The modules whose examples need what `make test` does not install.
engines := dask ray torch

test-suite: install $(venv)/tools-test
	$(pytest) tests
	$(pytest) bench --benchmark-disable
	$(pytest) --doctest-modules --pyargs tensorbuf $(engines:%=--ignore-glob='*/tensorbuf/%.py')

# The suite above ran at the best level; here what is marked so runs at each other one, in processes of their own that
# assert the level they loaded (tests/test_levels.py).
test-levels: install $(venv)/tools-test
	for level in $$($(python) -c 'from tensorbuf import _kernels; print(*_kernels.levels()[:-1])'); do \
	  TENSORBUF_LEVEL=$$level $(pytest) -m "($(LEVEL_MARKS)) and ($(MARKS))" tests || exit 1; done

proof: install $(venv)/tools-test
	$(python) -m pytest -n $(WORKERS) -m proof $(PYTEST_ARGS) tests

# In a folder of its own, since the partners are large and pinned. A partner that is missing is an error, but for those
# that have no wheels for every machine; they run apart also because their threads do not bear the forks of other tests.
apart := jax tensorflow

test-interop:
	$(MAKE) interop-suite VENV=$(VENV)-interop

# The examples run in a folder without the sources, since the workers of Ray import what is in the folder of their driver.
interop-suite: install $(venv)/tools-interop
	$(pytest) --dist loadfile tests/interop $(apart:%=--ignore=tests/interop/test_%.py)
	cd $(venv) && $(pytest) -c $(CURDIR)/pyproject.toml --doctest-modules --pyargs $(engines:%=tensorbuf.%)
	for group in $(apart); do \
	  if $(pip) --group $$group; then $(pytest) tests/interop/test_$$group.py || exit 1; \
	  else echo "$$group cannot be installed here: tests/interop/test_$$group.py is left out"; fi; done

vectors: install
	$(python) tests/vectors.py $(venv)/build

# Errors inside noexcept functions are only printed; pytest turns that into failures, as it does with every warning.
test-checks:
	$(MAKE) test VENV=$(VENV)-checks SETUP_ARGS=-Dkernel_checks=true MARKS="not proof and not release"

# The interpreter is not instrumented, so the runtimes are loaded before it. pytest leaves file descriptor 2 alone, to
# which they report. Each planted fault must be found, else a green suite would say nothing.
runtimes = $(foreach name,libasan.so libubsan.so libstdc++.so,$(shell $(CC) -print-file-name=$(name)))
sanitized = LD_PRELOAD="$(runtimes)" PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
  UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 $(pytest) --capture=sys

sanitize:
	$(MAKE) sanitize-suite sanitize-planted VENV=$(VENV)-sanitize MARKS="not proof and not release" \
	  SETUP_ARGS="-Db_sanitize=address,undefined -Db_lundef=false -Dc_args=-fsanitize=float-cast-overflow -Dplanted_faults=true"

sanitize-suite: install $(venv)/tools-test
	$(sanitized) tests

sanitize-planted: sanitize-suite
	! $(sanitized) tests/planted/faults.py -n 0 -k cast 2> $(venv)/report
	grep 'outside the range of representable values' $(venv)/report
	! $(sanitized) tests/planted/faults.py -n 0 -k read 2> $(venv)/report
	grep 'heap-buffer-overflow' $(venv)/report

# The wheel comes from the sdist, so a file that the sdist lacks is missing in the wheel.
dist: $(venv)/tools-build $(venv)/tools-dist
	rm -rf dist
	$(python) -m build --no-isolation --skip-dependency-check --outdir dist
	$(pip) --force-reinstall --no-deps dist/*.whl
	$(pytest) tests/test_package.py

dev: $(venv)/tools-build $(venv)/tools-dev
	$(call install,-dev) --editable '.[images]'

lint: style types

style: $(venv)/tools-lint
	ruff check
	ruff format --check
	cython-lint tensorbuf
	codespell

# From a folder without the sources, so that the installed package is what is checked. Stubtest holds every stub to what
# it stands for; a Python module without one is its own.
stubs = $(subst /,.,$(basename $(shell find tensorbuf -name '*.pyi')))
types: install $(venv)/tools-lint
	cd $(venv) && $(python) -m mypy --config-file $(CURDIR)/pyproject.toml -p tensorbuf
	cd $(venv) && $(python) -m mypy.stubtest --mypy-config-file $(CURDIR)/pyproject.toml \
	  --allowlist $(CURDIR)/tests/stubtest_allowlist.txt --ignore-unused-allowlist $(stubs)

docs: install $(venv)/tools-docs
	$(python) -m sphinx -W --keep-going -q docs docs/_build

# In a folder of its own, since the peers are large and pinned.
bench:
	$(MAKE) bench-table VENV=$(VENV)-bench

bench-table: install $(venv)/tools-bench
	$(python) bench/run.py $(BENCH_ARGS)

curves:
	$(MAKE) bench-curves VENV=$(VENV)-bench

bench-curves: install $(venv)/tools-bench
	$(python) bench/curves.py

install: $(venv)/tools-build
	$(call install) '.[images]'

$(venv)/created:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"Python >= 3.11 is needed, got {sys.version}: make PYTHON=...")'
	$(PYTHON) -m venv $(venv)
	$(pip) 'pip>=25.1'
	touch $@

# The build requirements stand once, in [build-system].
$(venv)/tools-build: pyproject.toml $(venv)/created
	$(python) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' > $@
	$(pip) -r $@

$(venv)/tools-%: pyproject.toml $(venv)/created
	$(pip) --group $*
	touch $@
