//! The manifest of a program: what it is, what it asks for, and how it is started.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::plugin_declaration::{PluginDeclaration, unfit};
use crate::plugin_error::{PluginError, PluginErrorKind};
use crate::program_run::{ProgramMode, ProgramResources, ProgramRun, parse_bytes};
use crate::program_volume::{MAX_VOLUMES, ProgramVolume};

/// The name of the manifest in a program's folder.
pub const MANIFEST_FILE: &str = "manifest.json";

/// The largest manifest, in bytes.
pub const MAX_MANIFEST_BYTES: usize = 256 << 10;

/// The most words of a command.
const MAX_COMMAND_WORDS: usize = 64;

/// The arguments that every call has, so that no tool can have its own of these names.
const CALL_FIELDS: [&str; 2] = ["sessionId", "callId"];

/// A manifest without faults.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// What the program declares, as every plugin does.
    pub declaration: PluginDeclaration,
    /// How it is run.
    pub run: ProgramRun,
}

impl Manifest {
    /// Reads a manifest. Fails with all faults at once. A field that is not known is a fault: whoever reads it would
    /// believe that it means something.
    pub fn parse(text: &[u8]) -> Result<Self, PluginError> {
        let bad = |message: String| {
            PluginError::new(PluginErrorKind::BadManifest, message)
                .hint(format!("correct `{MANIFEST_FILE}`, and propose the program again"))
        };
        if text.len() > MAX_MANIFEST_BYTES {
            return Err(bad(format!("the manifest is larger than {MAX_MANIFEST_BYTES} bytes")));
        }
        let whole: Value = serde_json::from_slice(text).map_err(|err| {
            let place = u32::try_from(err.line()).ok().zip(u32::try_from(err.column()).ok());
            bad(format!("the manifest is not JSON: {err}")).at(place)
        })?;
        // Of two fields with one name, a reader sees the first and a parser takes the last.
        toolcrib_core::json::parse(text)
            .map_err(|err| bad(format!("the manifest is not JSON: {err}")))?;
        let Value::Object(whole) = whole else {
            return Err(bad("the manifest is not a JSON object".to_owned()));
        };
        let mut faults = Vec::new();
        let manifest = Self::read(&whole, &mut faults);
        if faults.is_empty() {
            return Ok(manifest);
        }
        let faults: Vec<_> =
            faults.iter().map(|fault| toolcrib_core::escape::line(fault)).collect();
        Err(bad(format!("the manifest has faults: {}", faults.join("; "))))
    }

    fn read(whole: &Map<String, Value>, faults: &mut Vec<String>) -> Self {
        let mut part = ManifestPart { fields: whole, path: String::new(), faults };
        part.know(&[
            "name",
            "version",
            "type",
            "description",
            "capabilities",
            "provides",
            "command",
            "parameters",
            "output",
            "examples",
            "mode",
        ]);
        part.text("name");
        part.text("version");
        if part.text("type").is_some_and(|kind| kind != "tool") {
            part.refuse("type", "\"tool\"");
        }
        let mode = match whole.get("mode") {
            None => ProgramMode::Once,
            Some(mode) => ProgramMode::parse(mode).unwrap_or_else(|| {
                part.refuse("mode", "\"once\" or \"resident\"");
                ProgramMode::Once
            }),
        };
        let command = part.texts("command");
        if command.first().is_none_or(String::is_empty) || command.len() > MAX_COMMAND_WORDS {
            part.refuse("command", "a list of words, the program first");
        }
        let mut capabilities = part.part("capabilities");
        capabilities.know(&["network", "resources", "secrets", "volumes"]);
        let secrets = capabilities.texts("secrets");
        let volumes = capabilities.volumes();
        let mut network = capabilities.part("network");
        network.know(&["egress"]);
        let hosts = network.texts("egress");
        let mut resources = capabilities.part("resources");
        resources.know(&["memory", "cpus"]);
        let resources = resources.resources();
        let mut provides = part.part("provides");
        provides.know(&["tool", "securityTier"]);
        let tool = provides.text("tool").unwrap_or("unnamed").to_owned();
        let tier = provides.fields.get("securityTier").cloned();
        if tier.as_ref().is_some_and(|tier| tier.as_u64().is_none_or(|tier| tier > 4)) {
            provides.refuse("securityTier", "a whole number from 0 to 4");
        }
        let tier = tier.filter(|tier| tier.as_u64().is_some_and(|tier| tier <= 4));
        for field in CALL_FIELDS {
            if whole.get("parameters").is_some_and(|it| !it["properties"][field].is_null()) {
                faults.push(format!("`parameters` has `{field}`, which every call has already"));
            }
        }
        let told: Vec<String> = volumes.iter().map(ProgramVolume::told).collect();
        let mut declared = Map::new();
        for name in ["description", "parameters", "output", "examples"] {
            declared.extend(whole.get(name).map(|value| (name.to_owned(), value.clone())));
        }
        declared.insert("name".to_owned(), tool.into());
        declared.insert(
            "permissions".to_owned(),
            json!({"hosts": hosts, "secrets": secrets, "volumes": told}),
        );
        declared.extend(tier.map(|tier| ("securityTier".to_owned(), tier)));
        let declaration = PluginDeclaration::read(&declared, faults);
        Self { declaration, run: ProgramRun { command, mode, resources, volumes } }
    }
}

/// An object of a manifest, with the path to it.
struct ManifestPart<'a> {
    fields: &'a Map<String, Value>,
    path: String,
    faults: &'a mut Vec<String>,
}

/// What stands for an object that is not there.
static NO_FIELDS: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

impl ManifestPart<'_> {
    /// Tells of every field that is not known.
    fn know(&mut self, names: &[&str]) {
        let unknown = self.fields.keys().filter(|name| !names.contains(&name.as_str()));
        let path = &self.path;
        self.faults.extend(unknown.map(|name| format!("`{path}{name}` is not a field")));
    }

    fn refuse(&mut self, name: &str, expected: &str) {
        let path = format!("{}{name}", self.path);
        self.faults.push(unfit(&path, expected, self.fields.get(name)));
    }

    fn text(&mut self, name: &str) -> Option<&str> {
        let fields = self.fields;
        let text = fields.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        if text.is_none() {
            self.refuse(name, "a text that is not empty");
        }
        text
    }

    fn texts(&mut self, name: &str) -> Vec<String> {
        let Some(value) = self.fields.get(name) else { return Vec::new() };
        let texts = value.as_array().and_then(|list| {
            list.iter().map(|it| it.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
        });
        texts.unwrap_or_else(|| {
            self.refuse(name, "a list of texts");
            Vec::new()
        })
    }

    fn part(&mut self, name: &str) -> ManifestPart<'_> {
        let fields = match self.fields.get(name) {
            None => &*NO_FIELDS,
            Some(Value::Object(fields)) => fields,
            Some(_) => {
                self.refuse(name, "an object");
                &*NO_FIELDS
            }
        };
        ManifestPart { fields, path: format!("{}{name}.", self.path), faults: self.faults }
    }

    fn volumes(&mut self) -> Vec<ProgramVolume> {
        let Some(value) = self.fields.get("volumes") else { return Vec::new() };
        let parsed = value.as_array().filter(|list| list.len() <= MAX_VOLUMES).and_then(|list| {
            list.iter().map(ProgramVolume::parse).collect::<Option<Vec<ProgramVolume>>>()
        });
        let Some(volumes) = parsed else {
            let expected = "a list of volumes such as {\"name\": \"cache\", \"path\": \"/data\", \"mode\": \"rw\"}";
            self.refuse("volumes", expected);
            return Vec::new();
        };
        let collide = |(at, one): (usize, &ProgramVolume)| {
            volumes[at + 1..].iter().any(|two| one.collides(two))
        };
        if volumes.iter().enumerate().any(collide) {
            self.refuse("volumes", "a list of volumes that share no name and no path");
        }
        volumes
    }

    fn resources(&mut self) -> ProgramResources {
        let mut resources = ProgramResources::DEFAULT;
        if let Some(memory) = self.fields.get("memory") {
            match parse_bytes(memory) {
                Some(bytes) => resources.memory_bytes = bytes,
                None => self.refuse("memory", "a size such as \"256MB\""),
            }
        }
        if let Some(cpus) = self.fields.get("cpus") {
            match cpus.as_f64().filter(|cpus| *cpus > 0.0 && cpus.is_finite()) {
                Some(cpus) => resources.cpus = cpus,
                None => self.refuse("cpus", "a number above 0"),
            }
        }
        resources
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_core::Tier;

    use super::*;

    /// The manifest of the contract, with what a program needs besides.
    fn browser() -> Value {
        json!({
            "name": "nachos-tool-browser", "version": "1.0.0", "type": "tool",
            "capabilities": {
                "network": {"egress": ["*"]}, "resources": {"memory": "1GB", "cpus": 1.0},
                "secrets": ["BROWSER_KEY"],
                "volumes": [{"name": "profile", "path": "/data", "mode": "rw"}],
            },
            "provides": {"tool": "browser", "securityTier": 1},
            "description": "Browses.", "command": ["./browse"],
            "parameters": {"type": "object", "properties": {}},
        })
    }

    #[test]
    fn the_manifest_of_the_contract_is_one() {
        let manifest = Manifest::parse(browser().to_string().as_bytes()).unwrap();
        let Manifest { declaration, run } = manifest;
        assert_eq!((declaration.name.as_str(), declaration.tier), ("browser", Tier::Elevated));
        assert_eq!(declaration.permissions.hosts, ["*"]);
        assert_eq!(declaration.permissions.secrets, ["BROWSER_KEY"]);
        assert_eq!(run.volumes[0].path, "/data");
        assert_eq!(run.command, ["./browse"]);
        assert_eq!(run.mode, ProgramMode::Once);
        assert_eq!(run.resources, ProgramResources { memory_bytes: 1 << 30, cpus: 1.0 });
    }

    #[test]
    fn every_fault_of_a_manifest_is_told_at_once() {
        let bad = json!({
            "version": 1, "type": "channel", "mode": "forever", "author": "ada", "command": [],
            "capabilities": {
                "network": {"egress": "*", "ingress": []}, "resources": {"memory": "much", "cpus": 0},
                "volumes": [{"path": "."}], "secrets": [1],
            },
            "secrets": ["X"], "provides": {"securityTier": 9},
            "parameters": {"properties": {"callId": {"type": "string"}}}, "output": 1,
        });
        let err = Manifest::parse(bad.to_string().as_bytes()).unwrap_err();
        assert_eq!(err.kind, PluginErrorKind::BadManifest);
        for part in [
            "`name` is missing",
            "`version` must be a text that is not empty, and is a number",
            "`type` must be \"tool\", and is a text",
            "`author` is not a field",
            "`mode` must be",
            "`command` must be a list of words",
            "`capabilities.network.egress` must be a list of texts, and is a text",
            "`capabilities.network.ingress` is not a field",
            "`capabilities.resources.memory` must be a size",
            "`capabilities.resources.cpus` must be a number above 0",
            "`capabilities.volumes` must be a list of volumes",
            "`capabilities.secrets` must be a list of texts",
            "`secrets` is not a field",
            "`provides.tool` is missing",
            "`provides.securityTier` must be a whole number from 0 to 4",
            "`parameters` has `callId`",
            "`description` is missing",
            "`output` must be",
        ] {
            assert!(err.message.contains(part), "{part}: {}", err.message);
        }
        for text in ["", "[]", "{", "\u{1b}"] {
            let kind = Manifest::parse(text.as_bytes()).unwrap_err().kind;
            assert_eq!(kind, PluginErrorKind::BadManifest, "{text}");
        }
    }
}
