# Everything a newcomer needs. Each target first installs what is missing (scripts/setup.sh), and says so.

CARGO ?= cargo
# What `make bench` measures, and further arguments for it: make bench BENCH="cpu --json rows.json"
BENCH ?= cpu
BOOK ?= --plots

.DEFAULT_GOAL := help
.PHONY: help demo test python wheel lint bench doc book fmt setup

help: ## Show this list
	@echo "Shoal: distributed tile kernels. Targets:"
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: ## Compile and run kernels on this machine's CPU, one of them on 4 ranks; check them, show tables and a timeline
	@scripts/setup.sh build
	@echo "demo: building the shoal command (release)"
	$(CARGO) build --release -p shoal-cli --bin shoal
	$(CARGO) run --release --quiet -p shoal-cli --bin shoal -- demo --timeline target/demo-timeline

# The doc tests go first, so that the last lines are the summary of the large run.
test: ## Build and run all tests, of Rust and of Python
	@scripts/setup.sh build test python
	@echo "test: examples in the documentation"
	$(CARGO) test --workspace --doc --quiet
	@echo "test: unit, integration and file tests"
	$(CARGO) nextest run --workspace --no-fail-fast
	@scripts/pytest.sh

python: ## Build the Python package (dev profile) into target/python, an environment to try it in
	@scripts/setup.sh build python
	@bin=$$(scripts/python.sh) && echo "python: try it with $$bin/python3 and $$bin/shoal, test it with $$bin/python3 -m pytest"

wheel: ## Build a wheel with LLVM inside into target/wheels, install it and check it
	@scripts/setup.sh build python
	@scripts/wheel.sh

lint: ## Check formatting, clippy and documentation, as CI does
	@scripts/setup.sh build lint
	$(CARGO) fmt --all --check
	@scripts/python.sh --no-build >/dev/null
	target/python/bin/ruff format --check --quiet python scripts examples
	target/python/bin/ruff check --quiet python scripts
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

bench: ## Measure against NumPy and what else is installed (BENCH="cpu --json rows.json")
	@scripts/setup.sh build python
	@echo "bench: building the shoal command and the Python package (release)"
	SHOAL_BENCH_PYTHON=$$(scripts/peers.sh) $(CARGO) run --release --quiet -p shoal-cli --bin shoal -- bench $(BENCH)

doc: ## Build the documentation of all crates into target/doc
	@scripts/setup.sh build
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

book: ## Build the book into target/book, with the tutorials' plots (BOOK= leaves them out)
	@scripts/setup.sh build python
	@scripts/book.sh $(BOOK)

fmt: ## Format the code
	@scripts/setup.sh lint
	$(CARGO) fmt --all
	@scripts/python.sh --no-build >/dev/null
	target/python/bin/ruff format --quiet python scripts examples

setup: ## Only install what is missing
	@scripts/setup.sh
