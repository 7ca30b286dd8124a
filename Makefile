# Everything that CI runs, and what is too long for CI. `make help` explains.

GO      ?= go
LINT    := $(shell $(GO) env GOPATH)/bin/golangci-lint
LINTVER := v2.15.0
ARGS    ?=

.DEFAULT_GOAL := help
.PHONY: help demo test race lint bench fleet-kill fuzz anomalies histories histories-planted claims crash memory bench-storage

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

anomalies: ## Print which anomalies happen at which isolation level (ARGS for flags)
	$(GO) run ./cmd/enginecheck anomalies $(ARGS)

histories: ## Random transactions, proved correct; SEED=n repeats a run, SECONDS=n is how long
	$(GO) run ./cmd/enginecheck histories $(if $(SEED),--seed $(SEED)) $(if $(SECONDS),--seconds $(SECONDS)) $(ARGS)

histories-planted: ## Prove that the histories and the anomalies find a lock that is not taken
	$(GO) test -tags plantedfault -count=1 -v -run 'Planted|TestNoFault' ./enginetest/history ./enginetest/anomaly

claims: ## 32 sessions claim 200,000 rows: none twice, none lost, nobody waits
	$(GO) run ./cmd/enginecheck claims $(ARGS)

crash: ## Stop a short scenario at every write, then ROUNDS=n (500) kills of a loaded engine
	$(GO) test -count=1 -run 'StopAtEveryStep|AfterKill|Tail|BitFlip|CutCheckpoint|MissingSegment' ./engine/storage
	$(GO) run ./cmd/enginecheck crash --rounds $(or $(ROUNDS),500) $(ARGS)

memory: ## A million rows through a queue table, in the store and by T-SQL: memory ends where it began
	$(GO) run ./cmd/enginecheck memory $(ARGS)
	$(GO) run ./cmd/enginecheck memory-sql $(ARGS)

bench-storage: ## Commits, claims, recovery and memory, each beside its baseline
	$(GO) run ./cmd/enginecheck bench-storage $(ARGS)

fuzz: ## Fuzz the parser and the wire decoders, one minute each (FUZZTIME=10m for longer)
	./scripts/fuzz.sh
