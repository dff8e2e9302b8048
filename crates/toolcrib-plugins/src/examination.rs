//! The examination of a proposed plugin: what can be checked without a person is checked before one is asked.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use toolcrib_core::{canonical, escape};

use crate::manifest::Manifest;
use crate::permissions::Permissions;
use crate::plugin_declaration::{PluginDeclaration, PluginExample};
use crate::plugin_error::{PluginError, PluginErrorKind};
use crate::plugin_source::PluginSource;
use crate::program_run::ProgramResources;
use crate::tool_proposal::ExampleResult;
use crate::written_folder::TemporaryFolder;

/// The time after which no further example is run. Whoever proposes must not keep others waiting.
const EXAMPLES_TIME: Duration = Duration::from_secs(5);

/// The longest message of an example that is kept, in characters.
const MAX_MESSAGE_CHARS: usize = 500;

/// Runs code that nobody has approved, where it can do no harm.
pub trait Examiner: Send + Sync {
    /// Loads a module and returns what it exports. Errors have places in `file`.
    fn describe(&self, file: &str, source: &str) -> Result<PluginDeclaration, PluginError>;

    /// Runs an example and returns its result.
    fn run_example(
        &self,
        plugin: RunnablePlugin<'_>,
        declaration: &PluginDeclaration,
        example: &PluginExample,
    ) -> Result<Value, PluginError>;
}

/// A plugin that can be run where it is.
#[derive(Clone, Copy)]
pub enum RunnablePlugin<'a> {
    /// The code of a module.
    Module(&'a str),
    /// A program.
    Program {
        /// Its manifest.
        manifest: &'a Manifest,
        /// The folder with its files, without links in its path.
        folder: &'a Path,
        /// The folder with its volumes, which are empty.
        volumes: &'a Path,
    },
}

/// Checks what a plugin declares, without running it.
pub trait StaticChecks: Send + Sync {
    /// Fails if a name has not the form of a tool's name, is reserved, is that of a tool that is no plugin, or looks
    /// like one of those or of `others`, which are the names of the other plugins.
    fn check_name(&self, name: &str, others: &[String]) -> Result<(), PluginError>;

    /// Fails if a JSON Schema has faults, or is over a limit.
    fn check_schema(&self, schema: &Value) -> Result<(), PluginError>;
}

/// What refuses a proposal: all faults that were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposalFaults(pub Vec<PluginError>);

/// What the examination of a plugin needs.
pub(crate) struct Examination<'a> {
    pub(crate) examiner: &'a dyn Examiner,
    pub(crate) checks: &'a dyn StaticChecks,
    /// The most that the operator allows.
    pub(crate) max: &'a Permissions,
    /// The most memory and processors that the operator allows a program.
    pub(crate) most_resources: ProgramResources,
    /// Where the files of a program are while its examples run.
    pub(crate) scratch: &'a Path,
    /// The names of the other plugins.
    pub(crate) others: &'a [String],
}

impl Examination<'_> {
    /// Loads a module or reads a manifest, and checks that it is the tool `name` and may be one.
    pub(crate) fn describe(
        &self,
        name: &str,
        source: &PluginSource,
    ) -> Result<PluginDeclaration, ProposalFaults> {
        let declaration = match source {
            PluginSource::Module(code) => self.examiner.describe(&format!("{name}.mjs"), code)?,
            PluginSource::Program(files) => files.manifest()?.declaration,
        };
        let faults = self.faults(name, source, &declaration);
        if faults.is_empty() { Ok(declaration) } else { Err(ProposalFaults(faults)) }
    }

    /// Returns everything that is wrong with a declaration.
    pub(crate) fn faults(
        &self,
        name: &str,
        source: &PluginSource,
        declaration: &PluginDeclaration,
    ) -> Vec<PluginError> {
        let mut faults = Vec::new();
        if declaration.name != name {
            let declared = escape::line(&declaration.name).into_owned();
            let kind = source.kind().as_str();
            let message = format!("the {kind}'s name is `{declared}`, and not `{name}`");
            faults.push(
                PluginError::new(PluginErrorKind::BadName, message)
                    .hint("use the same name in both places"),
            );
        }
        faults.extend(self.checks.check_name(name, self.others).err());
        faults.extend(hidden_characters(declaration));
        let schemas = [("parameters", Some(&declaration.parameters))];
        let schemas = schemas.into_iter().chain([("output", declaration.output.as_ref())]);
        for (part, schema) in schemas {
            let checked = schema.map_or(Ok(()), |schema| self.checks.check_schema(schema));
            faults.extend(
                checked.err().map(|err| PluginError {
                    message: format!("`{part}`: {}", err.message),
                    ..err
                }),
            );
        }
        faults.extend(self.check_permissions(declaration).err());
        let Permissions { secrets, volumes, .. } = &declaration.permissions;
        let asks_as_program = !(secrets.is_empty() && volumes.is_empty());
        if matches!(source, PluginSource::Module(_)) && asks_as_program {
            // An approval of what cannot be used would be read as a promise.
            let message = "a module can be given no `secrets` and no `volumes`";
            faults.push(
                PluginError::new(PluginErrorKind::TooManyPermissions, message)
                    .hint("write a program, which can: `toolcrib plugins new NAME --program`"),
            );
        }
        if let PluginSource::Program(files) = source {
            let checked = files
                .manifest()
                .and_then(|it| it.run.resources.require_within(self.most_resources));
            faults.extend(checked.err());
        }
        faults
    }

    /// Fails if a plugin asks for more than the operator allows.
    pub(crate) fn check_permissions(
        &self,
        declaration: &PluginDeclaration,
    ) -> Result<(), PluginError> {
        let beyond = declaration.permissions.beyond(self.max);
        if beyond.is_empty() {
            return Ok(());
        }
        let asked: Vec<String> =
            beyond.iter().map(|it| format!("{} `{}`", it.list, escape::line(&it.entry))).collect();
        let message = format!("the plugin asks for more than is allowed: {}", asked.join(", "));
        let mut settings: Vec<String> =
            beyond.iter().map(|it| format!("`plugins.{}`", it.list)).collect();
        settings.dedup();
        let hint = format!("ask for less, or let the operator widen {}", settings.join(" and "));
        Err(PluginError::new(PluginErrorKind::TooManyPermissions, message).hint(hint))
    }

    /// Runs the declared examples. One that fails refuses nothing: the person who reviews is told.
    pub(crate) fn run_examples(
        &self,
        source: &PluginSource,
        declaration: &PluginDeclaration,
    ) -> Result<Vec<ExampleResult>, PluginError> {
        let (manifest, folder, volumes);
        let plugin = match source {
            PluginSource::Module(code) => RunnablePlugin::Module(code),
            PluginSource::Program(files) => {
                manifest = files.manifest()?;
                folder = TemporaryFolder::with(self.scratch, &source.files())?;
                volumes = TemporaryFolder::with(self.scratch, &[])?;
                let (folder, volumes) = (folder.path(), volumes.path());
                RunnablePlugin::Program { manifest: &manifest, folder, volumes }
            }
        };
        let start = Instant::now();
        let run = |example: &PluginExample| {
            if start.elapsed() > EXAMPLES_TIME {
                let message = Some("it was not run, because those before took too long".to_owned());
                let about = example.about.clone();
                let (is_ok, is_compared, elapsed_us) = (false, false, None);
                return ExampleResult { about, is_ok, is_compared, message, elapsed_us };
            }
            let began = Instant::now();
            let ran = self.examiner.run_example(plugin, declaration, example);
            let elapsed_us = u64::try_from(began.elapsed().as_micros()).ok();
            let message = match (ran, &example.reply) {
                (Err(err), _) => Some(err.message),
                (Ok(reply), Some(expected))
                    if canonical::text(&reply) != canonical::text(expected) =>
                {
                    Some(format!("it returned {}", canonical::text(&reply)))
                }
                (Ok(_), _) => None,
            };
            let message = message.map(|text| text.chars().take(MAX_MESSAGE_CHARS).collect());
            let (about, is_ok) = (example.about.clone(), message.is_none());
            let is_compared = example.reply.is_some();
            ExampleResult { about, is_ok, is_compared, message, elapsed_us }
        };
        Ok(declaration.examples.iter().map(run).collect())
    }
}

/// Returns an error for each part of a declaration with characters that a reader does not see or that reorder what
/// they see. A model reads them all the same.
fn hidden_characters(declaration: &PluginDeclaration) -> Vec<PluginError> {
    let PluginDeclaration { description, parameters, output, permissions, .. } = declaration;
    let is_plain = |text: &str| escape::lines(text) == text;
    let mut parts = vec![("description", is_plain(description))];
    for (part, schema) in [("parameters", Some(parameters)), ("output", output.as_ref())] {
        parts.push((part, schema.is_none_or(|schema| all_texts(schema, &is_plain))));
    }
    let entries = permissions.entries();
    parts.push(("permissions", entries.iter().all(|it| is_plain(&it.entry))));
    let hidden = parts.into_iter().filter(|(_, is_plain)| !is_plain);
    let told = hidden.map(|(part, _)| {
        let message = format!("`{part}` has characters that a reader does not see");
        PluginError::new(PluginErrorKind::BadModule, message).hint("leave them out")
    });
    told.collect()
}

/// Whether something holds for every text in a value, also for the names of fields.
pub(crate) fn all_texts(value: &Value, holds: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => holds(text),
        Value::Array(items) => items.iter().all(|item| all_texts(item, holds)),
        Value::Object(fields) => {
            fields.iter().all(|(name, value)| holds(name) && all_texts(value, holds))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

impl From<PluginError> for ProposalFaults {
    fn from(err: PluginError) -> Self {
        Self(vec![err])
    }
}

impl From<std::io::Error> for ProposalFaults {
    fn from(err: std::io::Error) -> Self {
        PluginError::from(err).into()
    }
}
