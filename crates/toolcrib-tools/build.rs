//! Hashes the code of every tool, so that statistics can tell one version of it from the next.

#![expect(clippy::disallowed_methods, reason = "a build script is no tool")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The folders of the catalogues.
const CATALOGUES: [&str; 5] = ["clemini", "forgekeeper", "hikai", "nachos", "wink"];

fn main() {
    println!("cargo:rerun-if-changed=src");
    let mut shared = Hash::new();
    shared.take_all(Path::new("src/operation"));
    let mut table = String::from("/// The hash of each file of tools, by catalogue and name.\n");
    table.push_str("pub(crate) static CODE: &[(&str, &str, &str)] = &[\n");
    for catalogue in CATALOGUES {
        let folder = Path::new("src").join(catalogue);
        for file in files(&folder) {
            let mut hash = Hash(shared.0);
            hash.take(&folder.with_extension("rs"));
            hash.take(&file);
            let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
            let _ = writeln!(table, "    ({catalogue:?}, {name:?}, \"{:016x}\"),", hash.0);
        }
    }
    table.push_str("];\n");
    let place = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("code.rs");
    if let Err(err) = fs::write(&place, table) {
        println!("cargo:error=`{}` cannot be written: {err}", place.display());
    }
}

/// FNV-1a.
struct Hash(u64);

impl Hash {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn take(&mut self, file: &Path) {
        for byte in fs::read(file).unwrap_or_default() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn take_all(&mut self, folder: &Path) {
        for file in files(folder) {
            self.take(&file);
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files
}
