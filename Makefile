# outboxd: thin fronts over CMake. `make` prints what there is.
.DEFAULT_GOAL := help
.PHONY: help deps build run test lint format bench install debug tsan fuzz clean

PREFIX ?= /usr/local
CMAKE_ARGS ?=

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

deps: ## install the Debian packages that are missing, those of the tests too
	@tools/install-deps

build: ## the program and the library: build/release/outboxd
	@tools/install-deps build
	@tools/build release product

run: build ## the demo: a small shop on the embedded store
	@build/release/outboxd demo

test: deps ## build the tests, start private servers, run every test
	@tools/build release && tools/test release

debug: deps ## build and test with AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/build debug && tools/test debug

tsan: deps ## build and test with ThreadSanitizer
	@tools/build tsan && tools/test tsan

fuzz: deps ## build the fuzz targets with clang and run each for a moment
	@tools/fuzz

lint: deps ## clang-format and clang-tidy, as errors; LINT_PATHS=src/relay looks deeper
	@tools/lint $(LINT_PATHS)

format: ## reformat the sources
	@git ls-files '*.cc' '*.h' | xargs clang-format -i

bench: deps build ## benchmarks, with the rivals when npm is there
	@bench/run

install: build ## into PREFIX (default /usr/local)
	@cmake --install build/release --prefix "$(PREFIX)"

clean: ## remove the build folder
	@rm -rf build
