# Everything that CI runs, and what is too long for CI. `make help` explains.

GO      ?= go
LINT    := $(shell $(GO) env GOPATH)/bin/golangci-lint
LINTVER := v2.15.0
ARGS    ?=

.DEFAULT_GOAL := help
.PHONY: help demo test race lint bench fleet-kill fuzz

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1	/' | expand -t 14

demo: ## Run the main job: a procedure in an open transaction gets an answer from the web
	$(GO) run ./cmd/loopbroker demo

test: ## Run all tests, as the README says
	$(GO) test ./...

race: ## Run all tests with the race detector (needs gcc)
	CGO_ENABLED=1 $(GO) test -race ./...

lint: $(LINT) ## Run go vet, the formatter's check and golangci-lint
	$(GO) vet ./...
	$(LINT) run ./...

$(LINT):
	$(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINTVER)

bench: ## Print one JSON line a scenario: fire-and-forget, wait, direct (ARGS for flags)
	$(GO) run ./cmd/loopbroker bench --scenario all --json $(ARGS)

fleet-kill: ## 64 callers, 5,000 requests, 4 worker processes, two of them killed half-way
	$(GO) run ./cmd/loopbroker fleet-kill $(ARGS)

fuzz: ## Fuzz the parser and the wire decoders, one minute each (FUZZTIME=10m for longer)
	./scripts/fuzz.sh
