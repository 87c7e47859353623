# Every target installs what it needs: in a fresh clone, `make demo` alone is enough. Prerequisites: Python 3.11 or newer,
# a C compiler, and Java 17 or newer for the targets that run Spark.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

VENV := .venv
BIN := $(VENV)/bin
DONE := $(VENV)/.done
RELEASE := $(VENV)/release

# The interpreter for the virtual environment; `make PYTHON=...` uses another one. The system's Python is preferred:
# distributions build it with profile-guided optimization, which saves 5 to 10 % of the CPU time of the server.
PYTHON ?= $(shell for python in /usr/bin/python3 python3 python3.13 python3.12 python3.11; do \
	"$$python" -c 'import ensurepip, pathlib, sys, sysconfig, venv; \
		header = pathlib.Path(sysconfig.get_path("include"), "Python.h"); \
		sys.exit(sys.version_info < (3, 11) or not header.exists())' 2>/dev/null && { echo "$$python"; break; }; done)

COMPILED := $(shell find _wire coordinator \( -path '*/messages' -prune \) -o -type f \
	\( -name '*.pyx' -o -name '*.pxd' -o -name '*.schema' -o -path "_wire/generate.py" -o -path "_wire/notation.py" -o -path "_wire/codegen/*.py" \) -print 2>/dev/null)
COMPILED_TESTS := $(shell find tests -name '*.pyx' -o -name '*.pxd')
BENCHES := $(sort $(wildcard tests/bench/bench_*.py))

.PHONY: help image-check manifests-check wheels audit-cases watched-cases build build-tests demo cluster-demo cluster-front-demo cluster-watch-demo cluster-rounds run debug check test test-computing test-realtime test-spark compare-acls compare-requests conformance-kafka crash rolling-restart upgrade-check upgrade-folder eos eos-java flink-sink folder-swap franz-go-tests fuzz instructions interop interop-ci kafka-tools screenshots simulate simulate-cluster simulate-world world-real streams streams-cases mutate nightly observe-cases observe-demo relay-kafka tests-of lint format docs hostile bench bench-acls bench-assignors bench-broker bench-broker-logs bench-cleaner bench-cluster bench-consumer-assignors bench-consumer-offsets bench-coordinator bench-dashboard bench-instructions bench-load bench-offsets-scan bench-partitions bench-pipeline bench-relay bench-testkit bench-timers bench-wire lock testing-examples clean java python watch-rounds bench-watch

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 16

build: $(DONE)/extensions $(DONE)/command ## virtual environment, locked packages, compiled extensions, the `coordinator` command

build-tests: build $(DONE)/test-extensions

demo: java ## end to end: a server, consumers that join, leave and crash, Spark, the table of generations
	@$(MAKE) --no-print-directory build
	@$(BIN)/coordinator demo $(if $(DASHBOARD),--dashboard)

cluster-demo: build-tests java ## the Spark job on a standalone cluster on this machine, beside the local mode: the tables of both, compared
	@$(BIN)/python -m tests.pipeline.cluster_demo

cluster-front-demo: build-tests java ## nodes in front of a Kafka of three brokers, under four client libraries: nodes and a broker are killed, and what the group noticed (Java, Maven, Go)
	@$(BIN)/python -m tests.cluster.front_demo $(if $(DASHBOARD),--dashboard)

cluster-watch-demo: build-tests java ## a Kafka and a node that only watches: consumers of four libraries and both protocols, killed, suspended, slow and closed, and why each is gone (Java, Maven, Go)
	@$(BIN)/python -m tests.cluster.watch_demo $(if $(DASHBOARD),--dashboard)

observe-demo: build-tests java ## a real Kafka of KAFKA (4.3.1), consumers that join, leave, crash and stall, and why their groups rebalanced, by its records and its log (Java, Maven)
	@$(BIN)/python -m tests.observe.demo

observe-cases: build-tests java ## play each way to rebalance with stock clients on real Kafkas, and write docs/observe-cases.md: what records, and records and logs, tell (Java, Maven; 40 minutes)
	@$(BIN)/python docs/make_observe_cases.py $(if $(ONLY),--only $(ONLY)) $(if $(CLIENTS),--clients $(CLIENTS))

run: build ## serve on 127.0.0.1:9092 with the data in ./coordinator-data, until Ctrl-C
	@exec $(BIN)/coordinator serve --listen 127.0.0.1:9092 --data-dir coordinator-data

debug: build ## as `run`, with checks of every decision: slow, to find a defect of the coordinator
	@COORDINATOR_DEBUG=1 exec $(BIN)/coordinator serve --listen 127.0.0.1:9092 --data-dir coordinator-data

# One worker more than cores, as many tests wait. A worker runs all tests of a file, because they share servers;
# tests/slowest_first.py orders the files.
WORKERS ?= $(shell expr 1 + $$(getconf _NPROCESSORS_ONLN))
PYTEST_ON_WORKERS = $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# The tests start hundreds of Python processes. Without byte code each would compile again what it imports.
check test test-computing test-realtime test-spark tests-of: export PYTHONDONTWRITEBYTECODE :=

check: lint test-computing ## lint, and all tests that need neither Spark nor real waits (about a minute)

# Spark's tests follow one another in one process, so that they share a session, and run beside those that only compute.
# Each of the two prints when it has ended. Those that wait for real timeouts come after them, when the cores are free.
test: build-tests ## all tests (Spark's too)
	@failed=0; \
	$(MAKE) --no-print-directory --jobs=2 --keep-going --output-sync=target test-computing test-spark || failed=1; \
	$(MAKE) --no-print-directory test-realtime || failed=1; \
	exit $$failed

test-computing: build-tests ## the tests that need neither Spark nor real waits
	@$(PYTEST_ON_WORKERS) -m "not spark and not realtime"

test-realtime: build-tests ## the tests that wait for real timeouts
	@$(PYTEST_ON_WORKERS) -m "realtime and not spark and not nightly"

test-spark: build-tests ## the tests that need Spark; they have a cache of their own (--lf), as other tests run beside them
	@$(BIN)/python -m pytest -o cache_dir=.pytest_cache/spark --timeout=300 -m "spark and not nightly"

tests-of: build-tests ## the tests that cover FILES, nearest first: make tests-of FILES=coordinator/core/classic/joining.py (`python -m tests.covering` lists them; Spark's are left out)
	@found=$$($(BIN)/python -m tests.covering $(FILES)) && $(PYTEST_ON_WORKERS) -m "not spark" $$found

HISTORIES ?= 500

compare-acls: build-tests ## compare this server with a real Kafka under random ACLs: 1,000 requests of a user, CASES=1000 SEED=1 (Java, Maven)
	@$(BIN)/python -m tests.differential.acls --cases $(or $(CASES),1000) --seed $(or $(SEED),1) $(if $(ONLY),--only $(ONLY))

compare-requests: build-tests ## compare this server with a real Kafka in about 6,400 single requests: each API at each version, with unusual values (Java, Maven)
	@$(BIN)/python -m tests.differential.requests $(if $(ONLY),--only $(ONLY))

relay-kafka: build-tests ## stock clients on a real Kafka through the relay: records, groups, transactions, admin (Java, Maven)
	@$(BIN)/python -m tests.cluster.relay.against_kafka

cluster-rounds: build-tests java ## faults of nodes and brokers for ROUNDS (100), under stock clients of four libraries; WATCHED=1: their groups stay with the cluster (Java, Maven, Go)
	@$(BIN)/python -m tests.cluster.rounds --rounds $(ROUNDS) $(if $(SEED),--seed $(SEED)) $(if $(WATCHED),--watched)

watch-rounds: KILLS ?= 50
watch-rounds: build-tests java ## `coordinator watch` at a real Kafka under load, killed KILLS (50) times while its log is rotated within lines, beside one that is not (Java, Maven)
	@$(BIN)/python -m tests.watch.rounds --kills $(KILLS) $(if $(SEED),--seed $(SEED))

upgrade-check: build-tests ## data folders of earlier releases, opened by this version; a newer one is refused
	@$(BIN)/python -m pytest -q tests/upgrade

upgrade-folder: build-tests ## keep a data folder of VERSION, for later releases to open (docs/releasing.md)
	@$(BIN)/python -m tests.upgrade.make_folder $(VERSION)

rolling-restart: RESTARTS ?= 3
rolling-restart: build-tests java ## restart the server RESTARTS (3) times under 500 members of four client libraries: what they notice (Java, Maven, Go)
	@$(BIN)/python -m tests.restarts --restarts $(RESTARTS)

conformance-kafka: SEED ?= 1
conformance-kafka: build-tests ## compare this server with a real Kafka in HISTORIES (500) random histories of groups, and as many with transactions, of consumer groups, of share groups and of streams groups, from SEED (1) on (Java, Maven)
	@$(BIN)/python -m tests.differential --histories $(HISTORIES) --seed $(SEED)
	@$(BIN)/python -m tests.differential.transactions --histories $(HISTORIES) --seed $(SEED)
	@$(BIN)/python -m tests.differential.consumer --histories $(HISTORIES) --seed $(SEED)
	@$(BIN)/python -m tests.differential.share_groups --histories $(HISTORIES) --seed $(SEED)
	@$(BIN)/python -m tests.differential.streams_groups --histories $(HISTORIES) --seed $(SEED)

# Each target runs for FUZZ_SECONDS. The corpus and failing inputs are kept in .fuzz.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS := $(sort $(wildcard tests/fuzz/fuzz_*.py))

fuzz: build-tests ## test the codec with malformed bytes, FUZZ_SECONDS (60) for each target of tests/fuzz
	@for target in $(FUZZ_TARGETS); do echo "== $$target"; \
		FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/python -m "tests.fuzz.$$(basename "$$target" .py)" 2>&1 \
			| grep -vE '^(INFO|WARNING|Loaded|#|")|^$$'; done

# SEED: the first seed; a random one without it.
SECONDS ?= 60
SEED ?=

simulate: build-tests ## random histories of groups, transactions, records, disks and crashes against a whole node, for SECONDS (60), from SEED on
	@$(BIN)/python -m tests.simulation --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))
	@$(BIN)/python -m tests.simulation.shares --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

simulate-cluster: build-tests ## random histories of several nodes in front of a model of a cluster, on one virtual clock, for SECONDS (60), from SEED on
	@$(BIN)/python -m tests.cluster.simulation --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

simulate-world: build-tests ## random histories of consumers whose truth is known, and each claim about them checked, for SECONDS (60), from SEED on
	@$(BIN)/python -m tests.world $(SECONDS) $(SEED) --goes-on

COUNT ?= 40

world-real: build-tests java ## random histories of real clients on the real server, and the claims about them checked: COUNT (40) of them, from SEED (1) on
	@$(BIN)/python -m tests.world.real $(COUNT) $(or $(SEED),1)

ROUNDS ?= 100

eos: build-tests ## exactly once: librdkafka copies a topic in transactions for ROUNDS (100), while members and the server are killed
	@$(BIN)/python -m tests.eos --rounds $(ROUNDS) $(if $(SEED),--seed $(SEED))

eos-java: build-tests java ## as `eos`, with Kafka's Java client (Java and Maven)
	@$(BIN)/python -m tests.eos --clients java --rounds $(ROUNDS) $(if $(SEED),--seed $(SEED))

streams: build-tests java ## exactly once: Kafka Streams counts words for ROUNDS (100), while instances and the server are killed (Java and Maven)
	@$(BIN)/python -m tests.eos --clients streams --rounds $(ROUNDS) $(if $(SEED),--seed $(SEED))
	@$(BIN)/python -m tests.eos --clients streams-protocol --rounds $(ROUNDS) $(if $(SEED),--seed $(SEED))

streams-cases: build-tests java ## play each way in which a streams group rebalances or stands still with Kafka Streams, and write docs/streams-cases.md (Java and Maven; two minutes)
	@$(BIN)/python docs/make_streams_cases.py

flink-sink: build-tests java ## exactly once: Flink's Kafka sink for ROUNDS (100), while tasks, the job and the server are killed (Java and Maven)
	@$(BIN)/python -m tests.eos --clients flink --rounds $(ROUNDS) $(if $(SEED),--seed $(SEED))

flip-bits: build-tests ## flip each bit of a data folder in turn: what a start then serves, and whether a line names the file (minutes)
	@$(BIN)/python -m tests.log.flip_bits

# What is too slow for `test`. The seeds are printed: with SEED a run can be repeated.
NIGHTLY_SECONDS ?= 600

nightly: export COORDINATOR_DEBUG := 1
nightly: export EXAMPLES := 10
nightly: build-tests ## with checks of every decision: simulate for NIGHTLY_SECONDS (600), Kafka's scenarios, ten times the examples of property tests, conformance-kafka if Java is there
	@$(BIN)/python -m tests.simulation --seconds $(NIGHTLY_SECONDS) $(if $(SEED),--seed $(SEED))
	@$(BIN)/python -m tests.simulation.shares --seconds $(NIGHTLY_SECONDS) $(if $(SEED),--seed $(SEED))
	@$(BIN)/python -m pytest -q tests/conformance
	@$(BIN)/python -m pytest -q -m nightly tests
	@$(PYTEST_ON_WORKERS) -m "hypothesis and not spark and not nightly" --timeout=1200 tests
	@seed=$(or $(SEED),$$(( RANDOM * 32768 + RANDOM ))); echo "histories with Kafka, seeds from $$seed on"; \
		{ $(BIN)/python -m tests.differential --histories $(HISTORIES) --seed $$seed && \
		$(BIN)/python -m tests.differential.transactions --histories $(HISTORIES) --seed $$seed && \
		$(BIN)/python -m tests.differential.consumer --histories $(HISTORIES) --seed $$seed && \
		$(BIN)/python -m tests.differential.share_groups --histories $(HISTORIES) --seed $$seed && \
		$(BIN)/python -m tests.differential.streams_groups --histories $(HISTORIES) --seed $$seed; } || \
		{ [ $$? -eq 2 ] && echo "left out: there is no Kafka to compare with"; }

mutate: build-tests ## apply each mutant of tests/mutations; a test must detect it (an hour; ARGUMENTS="--only TEXT")
	@$(BIN)/python -m tests.mutations $(ARGUMENTS)

lint: build-tests ## ruff, formatting, cython-lint, mypy --strict
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@PATH="$(abspath $(BIN)):$$PATH" cython-lint $(filter %.pyx %.pxd,$(COMPILED) $(COMPILED_TESTS))
	@$(BIN)/mypy

format: $(DONE)/packages ## format and sort imports in place
	@$(BIN)/ruff check --select I --fix .
	@$(BIN)/ruff format .

bench-assignors: build-tests ## the assignors beside kafka-python's, and Kafka's if its jars are available
	@$(BIN)/python tests/bench/bench_assignors.py

bench-consumer-assignors: build-tests ## the assignors of consumer groups beside those of Kafka's broker, if its jars are available
	@$(BIN)/python tests/bench/bench_consumer_assignors.py

# The scripts describe their environment variables (ROUNDS, ONLY, PEERS, ...) at the top.
bench-coordinator: build-tests ## the server under load beside Apache Kafka, kfake and a bare event loop (Go; Java and Maven for Kafka)
	@$(BIN)/python tests/bench/bench_coordinator.py

bench-cluster: build-tests ## nodes in front of a Kafka beside its own coordinator: joins, commits, heartbeats, takeovers (Go, Java, Maven)
	@$(BIN)/python tests/bench/bench_cluster.py

COMMITS ?= 10000000
KEYS ?= 10000

bench-cleaner: build-tests ## compaction of COMMITS (10000000) commits of KEYS (10000) keys: disk, time of a start, and the wait of clients
	@COMMITS=$(COMMITS) KEYS=$(KEYS) $(BIN)/python tests/bench/bench_cleaner.py

bench-durable: build-tests ## committing clients whose commits are flushed before they are answered, beside Apache Kafka (Go, Java, Maven)
	@$(BIN)/python tests/bench/bench_durable.py

bench-dashboard: build-tests ## the live page with EVENTS (1000000) events of GROUPS (10000) groups, in Chromium
	@$(BIN)/python tests/bench/bench_dashboard.py

bench-broker-logs: build-tests ## a broker's log of 1 GB, read for what it says about groups: time of one core and memory, MEGABYTES=1000
	@$(BIN)/python tests/bench/bench_broker_logs.py

bench-consumer-offsets: build-tests java ## the Spark job over a million records of __consumer_offsets
	@$(BIN)/python tests/bench/bench_consumer_offsets.py

hostile: build-tests ## clients that ask for too much: what each of SCALE (1) sends, takes, and lets others wait (ONLY: some)
	@$(BIN)/python -m tests.hostile

RUNS ?= 300

crash: build-tests ## kill a server RUNS (300) times under load, and look for all that it acknowledged after each start (SEED)
	@$(BIN)/python -m tests.crash --runs $(RUNS) $(if $(SEED),--seed $(SEED))

folder-swap: build-tests ## data folders that this server and a real Kafka write and serve in turn, and DumpLogSegments on ours (Java and Maven; SEED)
	@$(BIN)/python -m tests.folder_swap $(if $(SEED),--seed $(SEED))

franz-go-tests: ROUNDS = 1
franz-go-tests: build-tests ## franz-go's own integration tests against a server, three at once, ROUNDS (1) times (Go)
	@$(BIN)/python interop/franz_go_tests.py --rounds $(ROUNDS)

kafka-tools: build java ## Kafka's own command line tools against a server, written down in docs/kafka-tools.md (Java and Maven)
	@$(BIN)/python interop/kafka_tools.py

bench-acls: build-tests ## what the authorizer adds to a request with 10,000 ACLs
	@$(BIN)/python tests/bench/bench_acls.py

bench-broker: build-tests ## producing, fetching and transactions, beside Apache Kafka (Java and Maven)
	@$(BIN)/python tests/bench/bench_broker.py

bench-instructions: build-tests ## instructions per request, of this folder or of CHECKOUTS that are built (valgrind; ARGUMENTS=--write keeps them)
	@$(BIN)/python tests/bench/bench_instructions.py $(ARGUMENTS) $(CHECKOUTS)

instructions: build-tests ## fail if a request takes 2 % more instructions than tests/bench/instructions/instructions.toml says (valgrind)
	@$(BIN)/python tests/bench/bench_instructions.py --check

bench-load: build-tests ## the start on RECORDS (10000000) committed offsets, beside Apache Kafka on the same segments (Java and Maven)
	@$(BIN)/python tests/bench/bench_load.py

bench-offsets-scan: build-tests ## the records of a group found among RECORDS (20000000) committed offsets, and followed at RATE (50000) commits a second
	@$(BIN)/python tests/bench/bench_offsets_scan.py

bench-watch: build-tests ## CPU and memory of `coordinator watch` at RATE (50000) commits a second and 1,000 groups that rebalance
	@$(BIN)/python tests/bench/bench_watch.py

bench-partitions: build-tests ## 10,000 partitions: creating, reading, writing, starts and stops, memory, descriptors
	@$(BIN)/python tests/bench/bench_partitions.py

bench-relay: build-tests ## what passing bytes on to a broker costs, beside a uvloop that looks at nothing (KAFKA=1: and Kafka's tools; Java and Maven)
	@$(BIN)/python tests/bench/bench_relay.py

bench-testkit: build-tests ## the test kit beside kfake (Go), librdkafka's mock cluster and Apache Kafka (Java and Maven)
	@$(BIN)/python tests/bench/bench_testkit.py

bench-timers: build-tests ## the timing wheel beside asyncio, uvloop, heapq, and Kafka's timer if Java is available
	@$(BIN)/python tests/bench/bench_timers.py

EVENTS ?= 1000000

bench-pipeline: build-tests java ## the Spark job over EVENTS (1000000) events of a topic, its fold alone, and a live run
	@EVENTS=$(EVENTS) $(BIN)/python tests/bench/bench_pipeline.py

bench-wire: build-tests ## the codec beside kafka-python, franz-go's kmsg and aiokafka
	@$(BIN)/python tests/bench/bench_wire.py

# Each starts `coordinator testing` by itself. A toolchain that is missing leaves its example out.
testing-examples: export COORDINATOR := $(abspath $(BIN)/coordinator)
testing-examples: build ## tests of a Go, a Node and a Java consumer against `coordinator testing`
	@if command -v go > /dev/null; then cd interop/testing/go && go test ./...; else echo "left out: go is missing"; fi
	@if command -v npm > /dev/null; then cd interop/testing/node && npm ci --silent --no-audit --no-fund && npm test --silent; \
		else echo "left out: npm is missing"; fi
	@if command -v mvn > /dev/null; then cd interop/testing/java && mvn -q -B test; else echo "left out: mvn is missing"; fi

docs: build ## generate the pages of docs that are made from the code: commands, settings, messages, metrics, events, protocol, states, the list of decisions
	@for page in protocol configuration states audit claims metrics commands messages decisions; do $(BIN)/python "docs/make_$$page.py"; done

# MkDocs has packages of its own: the server needs none of them.
SITE := $(VENV)/site
.PHONY: docs-site lock-site transcript

docs-site: $(SITE)/.done ## the documentation as a site in build/site, which needs no web server: built from docs, and each link checked
	@NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --strict --clean
	@$(SITE)/bin/python docs/site/check.py build/site

$(SITE)/.done: docs/site/requirements.lock | python
	@$(PYTHON) -m venv $(SITE)
	@$(SITE)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r docs/site/requirements.lock
	@touch $@

lock-site: python ## resolve the versions for docs/site/requirements.in, and write docs/site/requirements.lock
	@scratch=$$(mktemp -d); trap 'rm -rf "$$scratch"' EXIT; \
	$(PYTHON) -m venv "$$scratch/venv"; \
	"$$scratch/venv/bin/python" -m pip install --quiet --disable-pip-version-check uv; \
	{ grep '^#' docs/site/requirements.lock; \
	  "$$scratch/venv/bin/uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header docs/site/requirements.in; \
	} > "$$scratch/lock"; \
	cp "$$scratch/lock" docs/site/requirements.lock

transcript: build ## run the commands of the tutorial, and write down what they print: docs/tutorials/from-install-to-why.md
	@$(BIN)/python docs/make_transcript.py

# Parts of it: TARGET=ours or kafka, ONLY=client,…, SCENARIOS=name,…
interop: build-tests ## play each scenario with each stock client, here and on Apache Kafka, and write docs/interop.md
	@$(BIN)/python -m interop $(if $(TARGET),--target $(TARGET)) $(if $(ONLY),--only $(ONLY)) $(if $(SCENARIOS),--scenarios $(SCENARIOS))

interop-ci: build-tests ## a part of interop in a few minutes, as CI does: this server, Python's clients in all scenarios, their oldest versions and other clients in some
	@$(BIN)/python -m interop --ci

screenshots: build-tests ## take the pictures of the live page in docs/images, of a server with consumers of its own (Chromium)
	@$(BIN)/python docs/make_screenshots.py

audit-cases: build-tests ## play each way to rebalance with each client, and write docs/audit-cases.md; ONLY=cases CLIENTS=clients: these alone
	@$(BIN)/python docs/make_audit_cases.py $(if $(ONLY),--only $(ONLY)) $(if $(CLIENTS),--clients $(CLIENTS)) $(if $(STORIES),--stories)

watched-cases: build-tests java ## the same on Apache Kafka behind a node that only watches, and write docs/watched-cases.md; VERSIONS=4.3.1,3.9.1 ONLY=cases CLIENTS=clients: these alone (Java, Maven, Go)
	@$(BIN)/python docs/make_watched_cases.py $(if $(VERSIONS),--versions $(VERSIONS)) $(if $(ONLY),--only $(ONLY)) $(if $(CLIENTS),--clients $(CLIENTS)) $(if $(STORIES),--stories)

bench: build-tests ## run all benchmarks of tests/bench
	@for bench in $(BENCHES); do echo "== $$bench"; $(BIN)/python "$$bench"; done

# The newest versions that fit pyproject.toml, for each system and Python; with the hashes of all their files.
RESOLVE = "$$scratch/venv/bin/uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header

lock: python ## resolve the versions for pyproject.toml, with hashes: all packages, those of a server, the tools of a release
	@scratch=$$(mktemp -d); trap 'rm -rf "$$scratch"' EXIT; \
	$(PYTHON) -m venv "$$scratch/venv"; \
	"$$scratch/venv/bin/python" -m pip install --quiet uv; \
	$(RESOLVE) pyproject.toml --extra dev -o "$$scratch/all"; \
	$(RESOLVE) pyproject.toml --extra admin --extra security -c "$$scratch/all" -o "$$scratch/server"; \
	$(RESOLVE) release/requirements.in -o "$$scratch/release"; \
	for each in all:requirements.lock server:deploy/requirements.lock release:release/requirements.lock; do \
		{ grep '^#' "$${each#*:}"; cat "$$scratch/$${each%%:*}"; } > "$$scratch/lock"; cp "$$scratch/lock" "$${each#*:}"; \
	done

wheels: $(RELEASE)/.done ## the source archive and the wheel of this machine, in dist, with a bill of materials; checked, installed and tried without a compiler (TWICE=1: built twice, and compared)
	@TWICE=$(TWICE) $(RELEASE)/bin/python -m release.wheels

image-check: $(RELEASE)/.done ## deploy/Containerfile without a container engine: its steps in a chroot, its size, its server under a read-only root (root, debootstrap)
	@PATH="$(abspath $(RELEASE))/bin:$$PATH" $(RELEASE)/bin/python -m release.image

manifests-check: $(RELEASE)/.done ## the manifests of Kubernetes and the units of systemd, against their schemas
	@$(RELEASE)/bin/python -m release.manifests

# The tools of a release; some want other versions than the packages of $(VENV).
$(RELEASE)/.done: release/requirements.lock | python
	@$(PYTHON) -m venv $(RELEASE)
	@$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r release/requirements.lock
	@touch $@

clean: ## remove build products, caches and measurements (not .venv and not coordinator-data)
	@rm -rf build dist *.egg-info .demo .interop .mypy_cache .ruff_cache .pytest_cache .hypothesis .fuzz _wire/messages
	@rm -f $(DONE)/extensions $(DONE)/test-extensions $(DONE)/command
	@find _wire coordinator tests \( -name '*.so' -o -name '*.c' -not -path 'tests/bench/*' -not -path 'tests/hostile/*' \) -type f -delete
	@find _wire coordinator tests -name __pycache__ -type d -prune -exec rm -rf {} +

python:
	@[ -n "$(PYTHON)" ] || { echo "Python is missing: install Python 3.11 or newer, with venv and the headers (python3-venv, python3-dev)" >&2; exit 1; }

java: python
	@$(PYTHON) coordinator/pipeline/java.py

$(DONE)/packages: requirements.lock | python
	@[ -x $(BIN)/python ] || { echo "creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing the packages of requirements.lock (about 400 MB the first time)"
	@$(BIN)/python -m pip install --disable-pip-version-check --no-deps -r requirements.lock \
		| { grep -v '^Requirement already satisfied' || true; }
	@mkdir -p $(DONE) && touch $@

$(DONE)/extensions: $(DONE)/packages setup.py $(COMPILED)
	@echo "compiling the extensions"
	@$(BIN)/python setup.py --quiet build_ext --inplace --build-lib build/inplace -j2
	@touch $@

$(DONE)/test-extensions: $(DONE)/extensions $(COMPILED_TESTS)
	@COMPILE_TESTS=1 $(BIN)/python setup.py --quiet build_ext --inplace --build-lib build/inplace -j2
	@touch $@

$(DONE)/command: $(DONE)/packages pyproject.toml setup.py coordinator/__init__.py | $(DONE)/extensions
	@EXTENSIONS_ARE_BUILT=1 \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
