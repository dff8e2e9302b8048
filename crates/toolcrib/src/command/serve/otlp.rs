//! Where the server exports spans to, as the settings say.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use toolcrib_serve::OtlpEndpoint;

use crate::error::CliError;
use crate::settings::{Settings, table};

/// The bits of a file's mode by which others than its owner have access.
const ACCESS_OF_OTHERS: u32 = 0o077;

/// The most bytes that a file of headers may have.
const MOST_HEADER_BYTES: u64 = 64 << 10;

/// Returns the collector of spans, if the settings name one.
pub(super) fn endpoint(settings: &Settings) -> Result<Option<OtlpEndpoint>, CliError> {
    let url = settings.get(table::OTLP_ENDPOINT);
    if url.is_empty() {
        return Ok(None);
    }
    let file = settings.get(table::OTLP_HEADERS_FILE);
    let headers = if file.is_empty() { String::new() } else { read_headers(Path::new(&file))? };
    // The error never shows the URL or a header, because they may hold secrets.
    let endpoint = OtlpEndpoint::new(&url, &headers);
    endpoint.map(Some).map_err(|err| {
        let hint = "see `otlp.endpoint` and `otlp.headers_file` in docs/server.md";
        CliError::usage(format!("spans cannot be exported: {err}")).hint(hint)
    })
}

fn read_headers(path: &Path) -> Result<String, CliError> {
    let refused =
        |why: String| CliError::usage(format!("`otlp.headers_file` {}: {why}", path.display()));
    let file = File::open(path).map_err(|err| refused(err.to_string()))?;
    let meta = file.metadata().map_err(|err| refused(err.to_string()))?;
    if meta.mode() & ACCESS_OF_OTHERS != 0 {
        let hint = format!("run `chmod 600 {}`", path.display());
        return Err(refused("others have access to it".to_owned()).hint(hint));
    }
    let mut text = String::new();
    let read = file.take(MOST_HEADER_BYTES).read_to_string(&mut text);
    read.map_err(|err| refused(err.to_string()))?;
    Ok(text)
}
