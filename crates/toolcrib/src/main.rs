//! The tool runtime for agents.

use std::process::ExitCode;

fn main() -> ExitCode {
    toolcrib::main()
}
