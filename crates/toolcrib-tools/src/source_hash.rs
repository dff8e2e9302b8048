//! The hashes of the tools' source code, one table for each catalogue. `build.rs` writes them: a catalogue without a
//! folder of its own has no table, and does not compile.

include!(concat!(env!("OUT_DIR"), "/source_hash.rs"));
