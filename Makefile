# Berth: every target makes what it needs. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
# A company's own certificate authority is in the system's store, if anywhere.
export UV_SYSTEM_CERTS ?= true
LISTEN ?= 127.0.0.1:50051
CLUSTER ?= examples/quickstart.yaml

GOLDEN ?= check
GRPCURL_VERSION := v1.9.3

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' \
	  '/^# --- / { gsub(/^# --- | -+$$/, ""); printf "\n%s\n", $$0 } \
	   /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo "Variables: PYTHON=$(PYTHON) LISTEN=$(LISTEN) CLUSTER=$(CLUSTER) GOLDEN=check|update"

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
	@:

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

# $(call generate,DIRECTORY): what proto/ gives, into DIRECTORY/berth/v1.
define generate
PATH="$(CURDIR)/.venv-proto/bin:$$PATH" .venv-proto/bin/python -m grpc_tools.protoc -I proto \
  --python_out=$(1) --grpc_python_out=$(1) --mypy_out=quiet:$(1) --mypy_grpc_out=quiet,only_async:$(1) proto/berth/v1/*.proto \
  && rm -f $(1)/berth/v1/resources_pb2_grpc.*
endef

.PHONY: proto
proto: .venv-proto/.installed ## Regenerate client/berth/v1 from proto/
	@rm -f client/berth/v1/*_pb2*
	@$(call generate,client)

.PHONY: proto-check
proto-check: .venv-proto/.installed ## Fail when the generated code is not what proto/ gives
	@fresh=$$(mktemp -d); trap 'rm -rf "$$fresh"' EXIT; $(call generate,"$$fresh"); \
	  diff -rq -x __init__.py -x __pycache__ "$$fresh/berth/v1" client/berth/v1 \
	  || { echo "client/berth/v1 is out of date: run make proto and commit it" >&2; exit 1; }
	@$(BIN)/buf lint

# --- checks ------------------------------------------------------------------------------------------------------

.PHONY: lint
lint: venv ## Format, lint, types, layers, spelling, generated code, lock
	@$(BIN)/ruff format --check --quiet . || { echo "run make format" >&2; exit 1; }
	@$(BIN)/ruff check --quiet .
	@said=$$($(BIN)/lint-imports --no-logo 2>&1) || { echo "$$said"; exit 1; }
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/codespell
	@$(MAKE) --no-print-directory proto-check lock-check
	@echo "lint: ok"

.PHONY: format
format: venv ## Format the code
	@$(BIN)/ruff check --quiet --fix . || true
	@$(BIN)/ruff format --quiet .

.PHONY: test
test: venv ## Every test that this machine can run; with Go, the tools that they need are built first
	@! command -v go > /dev/null || $(MAKE) --no-print-directory grpcurl
	@$(BIN)/python -m tests.cluster.binaries > /dev/null || true
	@$(BIN)/pytest -q -n auto

.PHONY: apiserver
apiserver: venv ## Build the API server that tests run against (8 minutes once), or find it in KUBEBUILDER_ASSETS
	@$(BIN)/python -m tests.cluster.binaries

.PHONY: test-fast
test-fast: venv ## The tests for a change in progress: fewer random worlds, nothing slow, no processes, no API server
	@$(BIN)/pytest -q -n auto -m "not slow and not e2e and not cluster"

.PHONY: bench
bench: venv ## Measure, and print the table with goals
	@$(BIN)/python -m benchmarks

# The floors of the base dependencies in pyproject.toml.
SDK_FLOOR := protobuf==6.31.1 grpcio==1.76.0 grpcio-status==1.76.0 googleapis-common-protos==1.70.0 msgspec==0.19.0

.PHONY: sdk-floor
sdk-floor: venv ## Import the SDK on the oldest versions of its dependencies
	@cd client && ../$(UV) run --quiet --isolated --no-project --python ../$(BIN)/python $(SDK_FLOOR:%=--with %) \
	  python -W error -c 'import berth; print("sdk-floor: ok,", berth.manifest({"kind": "Run"}).WhichOneof("item"))'

.PHONY: ci
ci: ## Everything that CI runs
	@.ci/run

# --- try it ------------------------------------------------------------------------------------------------------

.PHONY: demo
demo: venv ## Serve the quickstart once, and compare the outcome with its golden file (GOLDEN=update rewrites it)
	@$(BIN)/python examples/demo.py --golden $(GOLDEN)

.PHONY: run
run: venv ## Serve the living quickstart cluster on LISTEN until Ctrl-C, and show what happens
	@exec $(BIN)/berth-server serve --cluster $(CLUSTER) --play --listen $(LISTEN) --show

$(VENV)/.grpcurl-$(GRPCURL_VERSION): | $(VENV)/.installed
	@command -v go > /dev/null || { echo "grpcurl is built with Go, which is not here: see https://go.dev/dl" >&2; exit 1; }
	@echo "building grpcurl $(GRPCURL_VERSION) into $(BIN)"
	@GOBIN="$(CURDIR)/$(BIN)" GOFLAGS=-trimpath go install github.com/fullstorydev/grpcurl/cmd/grpcurl@$(GRPCURL_VERSION)
	@touch $@

.PHONY: grpcurl
grpcurl: $(VENV)/.grpcurl-$(GRPCURL_VERSION) ## Build grpcurl into .venv/bin; needs Go, fails without
	@:

.PHONY: clean
clean: ## Remove what the targets made
	@rm -rf $(VENV) .venv-proto .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
