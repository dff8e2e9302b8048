# A menu; whatever needs logic is in xtask.
.PHONY: run test lint docs bench fmt

run:            ## set everything up, then take the tour: real calls in a scratch workspace
	cargo run --quiet -- tour

test: lint      ## set everything up, then check everything
	cargo run --quiet -p xtask -- tools
	cargo test --workspace --lib --bins --tests --quiet

lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings

docs:           ## write docs/reference from the declarations
	cargo run --quiet -p xtask -- docs

bench:          ## compare with the peers in one run and print the ratios
	cargo build --release --quiet -p toolcrib -p xtask
	cargo run --quiet --release -p xtask -- bench

fmt:
	cargo fmt --all
