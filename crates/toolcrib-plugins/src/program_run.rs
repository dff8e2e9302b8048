//! How a program is run: its command, its mode, and the memory and processors that it gets.

use serde_json::Value;

use crate::plugin_error::{PluginError, PluginErrorKind};
use crate::program_volume::ProgramVolume;

/// How a program is run.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramRun {
    /// The program and its arguments. The program is a file of the folder, a path, or a name that is looked for among
    /// the programs of the system.
    pub command: Vec<String>,
    /// Whether it answers one call or many.
    pub mode: ProgramMode,
    /// What it gets.
    pub resources: ProgramResources,
    /// The folders of its own that stay.
    pub volumes: Vec<ProgramVolume>,
}

/// Whether a process of a program answers one call or many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramMode {
    /// It reads one request, answers, and ends.
    Once,
    /// It stays up, and answers one line with one line.
    Resident,
}

/// The memory and the processors of one process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProgramResources {
    /// The memory, in bytes.
    pub memory_bytes: u64,
    /// The processor cores.
    pub cpus: f64,
}

impl ProgramMode {
    /// Reads a mode.
    pub(crate) fn parse(value: &Value) -> Option<Self> {
        match value.as_str()? {
            "once" => Some(Self::Once),
            "resident" => Some(Self::Resident),
            _ => None,
        }
    }
}

impl ProgramResources {
    /// What a program gets that does not say.
    pub const DEFAULT: Self = Self { memory_bytes: 256 << 20, cpus: 1.0 };

    /// Fails if these are more than the operator allows.
    pub fn require_within(self, most: Self) -> Result<(), PluginError> {
        let (excess, setting) = if self.memory_bytes > most.memory_bytes {
            let (asked, allowed) = (self.memory_bytes, most.memory_bytes);
            (format!("{asked} bytes of memory, and {allowed} are allowed"), "program_memory_bytes")
        } else if self.cpus > most.cpus {
            (format!("{} processors, and {} are allowed", self.cpus, most.cpus), "program_cpus")
        } else {
            return Ok(());
        };
        Err(PluginError::new(
            PluginErrorKind::TooManyPermissions,
            format!("the program asks for {excess}"),
        )
        .hint(format!("ask for less, or let the operator widen `plugins.{setting}`")))
    }
}

/// Reads a size: a number of bytes, or a text with a unit. As container tools have it, each unit is 1,024 of the one
/// before.
pub(crate) fn parse_bytes(value: &Value) -> Option<u64> {
    let bytes = match value {
        Value::Number(number) => number.as_u64()?,
        Value::String(text) => {
            let text = text.trim().to_ascii_lowercase();
            let digits = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
            let (number, unit) = text.split_at(digits);
            let shift = match unit.trim() {
                "" | "b" => 0,
                "k" | "kb" | "kib" => 10,
                "m" | "mb" | "mib" => 20,
                "g" | "gb" | "gib" => 30,
                _ => return None,
            };
            number.parse::<u64>().ok()?.checked_mul(1 << shift)?
        }
        _ => return None,
    };
    (bytes > 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [
            (json!("1GB"), 1 << 30),
            (json!("256 MiB"), 256 << 20),
            (json!("64m"), 64 << 20),
            (json!("1000"), 1000),
            (json!(4096), 4096),
        ] {
            assert_eq!(parse_bytes(&text), Some(bytes), "{text}");
        }
        for bad in
            [json!("1.5GB"), json!("GB"), json!("-1"), json!(0), json!(""), json!("99999999999GB")]
        {
            assert_eq!(parse_bytes(&bad), None, "{bad}");
        }
    }
}
