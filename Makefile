# The commands of a working day. Each installs what it misses (scripts/bootstrap) and says what.
SHELL := /bin/bash
JOBS := $(shell . scripts/lib.sh && jobs)
RELEASE := build/release
.PHONY: help build demo test check oracles truth-test sweep-test kill-test bench fuzz format samples docs clean

help:
	@echo "make demo     install what is missing, build, plan a bundled sample, write the report"
	@echo "make test     release build; unit, golden and property tests, oracles"
	@echo "make check    format, clang-tidy, sanitizers, fuzzing of 60 s a target, web build and browser tests"
	@echo "make build    only the release binary: $(RELEASE)/bin/ergon"
	@echo "make oracles  the published figures that a correct tool must find (needs ../shared/data or ERGON_SHARED_DATA)"
	@echo "make truth-test  measured energy against the simulator's truth, 200 seeds a device"
	@echo "make sweep-test  optima that sweeps find against the simulator's truth, three GPUs, three networks (10 minutes)"
	@echo "make kill-test  a sweep on the simulated GPU is killed 200 times; clocks must come back"
	@echo "make bench    speed and size against the peers; raw data under bench/results"

build:
	@scripts/bootstrap build
	@cmake --preset release -DERGON_DEV=OFF -B $(RELEASE) >/dev/null
	@echo "building $(RELEASE)/bin/ergon (a few minutes the first time)"
	@cmake --build $(RELEASE) -j $(JOBS) --target ergon -- --quiet

demo: build
	@scripts/demo

test:
	@scripts/bootstrap test
	@scripts/run-tests

check:
	@scripts/bootstrap check
	@scripts/run-checks

oracles:
	@scripts/bootstrap test
	@cmake --preset release >/dev/null
	@cmake --build $(RELEASE) -j $(JOBS)
	@scripts/oracles

truth-test:
	@scripts/bootstrap test
	@cmake --preset release >/dev/null
	@cmake --build $(RELEASE) -j $(JOBS)
	@python3 tests/e2e/truth.py $(RELEASE)/bin --seeds 200 --jobs 16 --out $(RELEASE)/truth.csv

sweep-test:
	@scripts/bootstrap test
	@cmake --preset release >/dev/null
	@cmake --build $(RELEASE) -j $(JOBS)
	@python3 tests/e2e/sweep_optimum.py $(RELEASE)/bin --full

bench:
	@scripts/bootstrap bench
	@cmake --preset release >/dev/null
	@cmake --build $(RELEASE) -j $(JOBS)
	@scripts/run-benches

kill-test:
	@scripts/bootstrap test
	@cmake --preset release >/dev/null
	@cmake --build $(RELEASE) -j $(JOBS)
	@python3 tests/e2e/kill_sweep.py $(RELEASE)/bin --count 200 --jobs 6

fuzz:
	@scripts/bootstrap check
	@scripts/fuzz $${SECONDS_PER_TARGET:-600}

format:
	@git ls-files '*.cpp' '*.hpp' | xargs clang-format-19 -i

clean:
	@rm -rf build web/dist web/node_modules
