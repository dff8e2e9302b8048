//! A plugin's source as one text, which people read and compare.

use std::borrow::Cow;
use std::fmt::Write as _;

use toolcrib_core::canonical::Digest;

use crate::manifest::MANIFEST_FILE;
use crate::plugin_source::PluginSource;
use crate::program_files::{EXECUTABLE_MODE, PackedFile};

/// The longest file of a program that is shown, in bytes.
const MAX_SHOWN_FILE: usize = 256 << 10;

/// The most bytes of a program's files that are shown.
const MAX_SHOWN_BYTES: usize = 2 << 20;

/// Returns the source of a plugin as text: the code of a module; the manifest of a program, and then every file. A file
/// that is not shown is told by its hash, so a change of it is always in the difference.
pub fn source_text(source: &PluginSource) -> Cow<'_, str> {
    let files = match source {
        PluginSource::Module(code) => return Cow::Borrowed(code),
        PluginSource::Program(files) => files.all(),
    };
    let (first, others): (Vec<&PackedFile>, Vec<&PackedFile>) =
        files.iter().partition(|file| file.path == MANIFEST_FILE);
    let (mut text, mut left) = (String::new(), MAX_SHOWN_BYTES);
    for file in first.into_iter().chain(others) {
        let runs = if file.mode == EXECUTABLE_MODE { ", can be run" } else { "" };
        let _ = write!(text, "{} ({} bytes{runs})", file.path, file.bytes.len());
        let is_short = file.bytes.len() <= MAX_SHOWN_FILE.min(left);
        let shown =
            std::str::from_utf8(&file.bytes).ok().filter(|it| is_short && !it.contains('\0'));
        if let Some(shown) = shown {
            left -= shown.len();
            text.push('\n');
            // What a file says cannot look like the name of another one.
            for line in shown.lines() {
                let _ = writeln!(text, "| {line}");
            }
        } else {
            let _ = writeln!(text, ", not shown: {}", Digest::of_bytes(&file.bytes));
        }
    }
    Cow::Owned(text)
}
