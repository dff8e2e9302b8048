//! Hashes the source code of every tool, so that statistics can tell one version of a tool from the
//! next.

#![expect(clippy::disallowed_methods, reason = "a build script is no tool")]

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The folder with the code that all catalogues share. Every other folder is a catalogue.
const SHARED: &str = "operation";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=src");
    let mut shared = Hash::new();
    for file in entries(&Path::new("src").join(SHARED))? {
        shared.add(&file)?;
    }
    let mut tables = String::new();
    // A folder without a file of its name is no module: it holds snapshots of tests.
    let is_module = |path: &&PathBuf| path.is_dir() && path.with_extension("rs").is_file();
    for folder in entries(Path::new("src"))?.iter().filter(is_module) {
        if folder.ends_with(SHARED) {
            continue;
        }
        let catalogue = name(folder);
        let _ = writeln!(tables, "/// The hash of the source of each tool of `{catalogue}`.");
        let _ = writeln!(
            tables,
            "pub(crate) static {}: &[(&str, &str)] = &[",
            catalogue.to_uppercase()
        );
        for file in entries(folder)? {
            let mut hash = Hash(shared.0);
            hash.add(&folder.with_extension("rs"))?;
            hash.add(&file)?;
            let _ = writeln!(tables, "    ({:?}, \"{:016x}\"),", name(&file), hash.0);
        }
        tables.push_str("];\n");
    }
    let folder = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    fs::write(PathBuf::from(folder).join("source_hash.rs"), tables)
}

/// FNV-1a.
struct Hash(u64);

impl Hash {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, file: &Path) -> io::Result<()> {
        for byte in fs::read(file)? {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
    }
}

/// Returns the entries of a folder, sorted, because their order decides the hash.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut entries = entries.collect::<io::Result<Vec<PathBuf>>>()?;
    entries.sort();
    Ok(entries)
}

fn name(path: &Path) -> String {
    path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
