# The front door. Every target sets up what it needs; only system-packages needs root.
PYTHON ?= python3
TORCH ?= torch==2.13.0
# For example TORCH_INDEX=https://download.pytorch.org/whl/cpu where pip would take a CUDA build.
TORCH_INDEX ?=
# The newest that was tried; TRANSFORMERS=transformers takes the newest there is.
TRANSFORMERS ?= transformers==5.24.0
REQUIRE_ALL ?=
# Files of tests are spread over this many processes; 0 runs them in one, as a debugger wants.
WORKERS ?= auto
PYTEST_ARGS ?=

PY := .venv/bin/python
PYTEST := $(PY) -m pytest -n $(WORKERS) --dist loadfile
PIP := -m pip --disable-pip-version-check install --quiet
export KERNELMILL_REQUIRE_ALL := $(REQUIRE_ALL)

.PHONY: help setup demo test unit test-long reproduce lint types gen bench system-packages clean
.DEFAULT_GOAL := help

help:
	@echo "make demo             build, publish, load and check the flagship GEMM, end to end"
	@echo "make test             set up and run lint, types and every test but the long ones"
	@echo "make unit             the unit tests (a minute)"
	@echo "make test-long        the long tests"
	@echo "make reproduce        build the examples from their locks, and compare with the recorded hashes"
	@echo "make lint types       ruff, import rules; mypy"
	@echo "make gen              regenerate the generated documents"
	@echo "make bench            the benchmarks"
	@echo "make system-packages  what the full test run wants from apt (root)"

setup: .venv/ready

.venv/ready: pyproject.toml Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "make: $(PYTHON) is older than 3.11: name a newer one with make PYTHON=python3.12" >&2; exit 3; }
	@echo "setting up .venv (PyTorch and the toolchain wheels, about 0.5 GB on the first run)"
	@$(PYTHON) -m venv .venv
	@$(PY) $(PIP) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) "$(TORCH)"
	@$(PY) $(PIP) --editable ".[builder,emulator,hub,sigstore,dev]"
	@touch $@

# The client that others run: Hugging Face's own package, apart from ours. Tests load with it.
.venv-peer/ready: Makefile
	@echo "setting up .venv-peer (the kernels package from PyPI)"
	@$(PYTHON) -m venv .venv-peer
	@.venv-peer/bin/python $(PIP) kernels==0.17.2
	@touch $@

# transformers, and kernelmill as the `kernels` that it asks for. The rest, PyTorch above all, is
# borrowed from .venv.
.venv-transformers/ready: .venv/ready compat/pyproject.toml Makefile
	@echo "setting up .venv-transformers ($(TRANSFORMERS) with kernelmill)"
	@$(PYTHON) -m venv .venv-transformers
	@$(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > \
	  "$$(.venv-transformers/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/zz-borrowed.pth"
	@.venv-transformers/bin/python $(PIP) "$(TRANSFORMERS)"
	@.venv-transformers/bin/python $(PIP) --no-deps --editable .
	@.venv-transformers/bin/python $(PIP) --no-deps ./compat
	@touch $@

# NVIDIA's compiler (104 MB): tests compile CUDA with it, as users do who have it from pip.
.venv-cuda/ready: .venv/ready
	@echo "setting up .venv-cuda (nvcc 13.0 from NVIDIA's Python packages)"
	@$(PY) $(PIP) --no-deps --upgrade --target .venv-cuda nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 \
	  nvidia-cuda-crt==13.0.88 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85
	@touch $@

demo: .venv/ready
	@$(PY) -m demo $(DEMO_ARGS)

# What release builds are made of, for the tests of them: Debian's compiler, wheels of CMake, zig and PyTorch.
SDKS := .cache/sdks
.cache/sdks/ready: .venv/ready src/kernelmill/builder/data/toolchains.toml
	@echo "fetching SDKs (Debian packages and wheels, about 0.4 GB on the first run)"
	@KERNELMILL_SDKS=$(SDKS) $(PY) -m kernelmill.builder sdk fetch --force \
	  cxx-12.2.0 tools-1 zig-0.17.1 abi-stubs-2.28 torch-2.13.0 >/dev/null && touch $@ || \
	  echo "make: no SDKs: tests of release builds are skipped" >&2

test: .venv/ready .venv-peer/ready .venv-transformers/ready .venv-cuda/ready .cache/sdks/ready lint types
	$(PYTEST) -m "not long" $(PYTEST_ARGS)

unit: .venv/ready
	$(PYTEST) tests/unit -m "not property" $(PYTEST_ARGS)

test-long: .venv/ready .venv-peer/ready .venv-transformers/ready .venv-cuda/ready .cache/sdks/ready
	$(PY) -m pytest -m long $(PYTEST_ARGS)

# Builds what the locks of the examples name, and compares with the hashes beside them (an hour on 2 cores).
REPRODUCE ?= $(patsubst %/build.sha256,%,$(wildcard examples/*/build.sha256))
reproduce: .cache/sdks/ready
	@for kernel in $(REPRODUCE); do \
	  KERNELMILL_SDKS=$(SDKS) $(PY) -m kernelmill.builder sdk fetch --locked $$kernel >/dev/null && \
	  KERNELMILL_SDKS=$(SDKS) $(PY) -m kernelmill.builder reproduce --expected $$kernel || exit; \
	done

lint: .venv/ready
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/lint-imports

types: .venv/ready
	$(PY) -m mypy

gen: .venv/ready
	$(PY) docs/generate_manifest.py
	$(PY) -m kernelmill.emulator.instructions_page docs/emulator-instructions.md

bench: .venv/ready
	$(PY) -m benchmarks

system-packages:
	$(if $(filter 0,$(shell id -u)),,sudo) apt-get update -qq
	$(if $(filter 0,$(shell id -u)),,sudo) env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
	  --no-install-recommends g++ git clang-19 lld-19 llvm-19 clang-tools-19 nix-bin bubblewrap \
	  postgresql chromium git-lfs nginx zsh fish

clean:
	rm -rf .venv .venv-peer .venv-transformers .venv-cuda .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis
