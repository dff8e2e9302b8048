# A menu; whatever needs logic is in xtask.
.PHONY: run quick test lint docs picture bench fmt

run:            ## build toolcrib, then show its page: a server at work in a scratch project
	@echo "==> building toolcrib into target/debug; the first time, cargo downloads and builds its dependencies (about five minutes)"
	@cargo build --bin toolcrib --bin xtask
	@cargo run --quiet -p xtask -- run

quick:          ## format, lints and every test that starts no process: half a minute after a build
	@echo "==> building the chores (xtask)"
	cargo run -p xtask -- quick

test:           ## set everything up, then check everything: minutes
	@echo "==> building the chores (xtask); the first time this takes minutes"
	RUSTC_WORKSPACE_WRAPPER=clippy-driver cargo run -p xtask -- test

lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

docs:           ## write docs/reference from the declarations
	cargo run -p xtask -- docs

picture:        ## record the terminal session that the README shows
	cargo build --workspace --bins
	cargo run --quiet -p xtask -- picture

bench:          ## compare with the peers in one run and print the ratios
	@echo "==> building for release; the first time this takes minutes"
	cargo build --release -p toolcrib -p xtask
	cargo run --quiet --release -p xtask -- bench

fmt:
	cargo fmt --all
