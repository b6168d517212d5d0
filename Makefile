# Berth: every target makes what it needs. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
LISTEN ?= 127.0.0.1:50051
CLUSTER ?= examples/quickstart.yaml

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

# --- environment -------------------------------------------------------------------------------------------------

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "berth needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1). Set PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: requirements.lock pyproject.toml | $(BIN)/python
	@echo "installing into $(VENV)"
	@test -x $(UV) || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(UV) pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

.PHONY: venv
venv: $(VENV)/.installed ## Make the virtual environment from the lock

.PHONY: lock
lock: | $(BIN)/python ## Resolve both locks anew (no registry addresses inside)
	@test -x $(UV) || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(UV) pip compile --quiet --universal --generate-hashes --no-annotate --no-header --all-extras pyproject.toml --output-file requirements.lock
	@$(UV) pip compile --quiet --universal --generate-hashes --no-annotate --no-header requirements-proto.in --output-file requirements-proto.lock

.PHONY: lock-check
lock-check: venv ## Fail when a lock no longer satisfies what it was made from
	@for pair in "--all-extras pyproject.toml:requirements.lock" "requirements-proto.in:requirements-proto.lock"; do \
	  lock=$${pair##*:}; copy=$$(mktemp); cp $$lock $$copy; \
	  $(UV) pip compile --quiet --universal --generate-hashes --no-annotate --no-header $${pair%%:*} --output-file $$copy; \
	  cmp -s $$lock $$copy || { echo "$$lock is out of date: run make lock" >&2; rm -f $$copy; exit 1; }; rm -f $$copy; done

# --- generated code ----------------------------------------------------------------------------------------------

.venv-proto/.installed: requirements-proto.lock | $(VENV)/.installed
	@$(PYTHON) -m venv .venv-proto
	@$(UV) pip sync --quiet --python .venv-proto/bin/python --require-hashes requirements-proto.lock
	@touch $@

.PHONY: proto
proto: .venv-proto/.installed ## Regenerate client/berth/v1 from proto/
	@rm -f client/berth/v1/*_pb2*
	@PATH="$(CURDIR)/.venv-proto/bin:$$PATH" .venv-proto/bin/python -m grpc_tools.protoc -I proto \
	  --python_out=client --grpc_python_out=client --mypy_out=client --mypy_grpc_out=only_async:client proto/berth/v1/*.proto
	@rm -f client/berth/v1/resources_pb2_grpc.*

.PHONY: proto-check
proto-check: proto ## Fail when the generated code is not what proto/ gives
	@git diff --exit-code --stat -- client/berth/v1 && test -z "$$(git status --porcelain -- client/berth/v1)" \
	  || { echo "client/berth/v1 is out of date: run make proto and commit it" >&2; exit 1; }
	@$(BIN)/buf lint

# --- checks ------------------------------------------------------------------------------------------------------

.PHONY: lint
lint: venv ## Format, lint, types, layers, spelling, generated code, lock
	@$(BIN)/ruff format --check --quiet . || { echo "run make format" >&2; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/lint-imports --no-logo > .lint-imports.out || { cat .lint-imports.out; rm -f .lint-imports.out; exit 1; }; rm -f .lint-imports.out
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/codespell
	@$(MAKE) --no-print-directory proto-check lock-check
	@echo "lint: ok"

.PHONY: format
format: venv ## Format the code
	@$(BIN)/ruff check --quiet --fix . || true
	@$(BIN)/ruff format --quiet .

.PHONY: test
test: venv ## Every test that this machine can run
	@$(BIN)/pytest -q -n auto -m "not cluster"
	@$(BIN)/pytest -q -m cluster  # one API server for all of them, so one process

.PHONY: apiserver
apiserver: venv ## Build the API server that tests run against (8 minutes once), or find it in KUBEBUILDER_ASSETS
	@$(BIN)/python -m tests.cluster.binaries

.PHONY: test-fast
test-fast: venv ## The tests for a change in progress: fewer random worlds, nothing slow, no API server
	@$(BIN)/pytest -q -n auto -m "not slow and not cluster"

.PHONY: bench
bench: venv ## Measure, and print the table with goals
	@$(BIN)/python -m benchmarks

# --- try it ------------------------------------------------------------------------------------------------------

.PHONY: run
run: venv ## Serve the quickstart cluster on LISTEN (default 127.0.0.1:50051) until Ctrl-C
	@exec $(BIN)/berth-server serve --cluster $(CLUSTER) --listen $(LISTEN) --show

.PHONY: clean
clean: ## Remove what the targets made
	@rm -rf $(VENV) .venv-proto .mypy_cache .ruff_cache .pytest_cache .hypothesis
