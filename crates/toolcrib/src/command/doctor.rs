//! `toolcrib doctor`: what works here, what does not, and why. People run it when nothing else works, so it
//! goes on where every other command stops.

use serde_json::{Map, Value, json};
use toolcrib_core::escape;
use toolcrib_host::{Enforcement, SandboxFinding};

use super::layout::{as_text, wrapped};
use super::search::Facts;
use super::setup::{open_options, warn};
use crate::cli::{DoctorArgs, Global};
use crate::error::CliError;
use crate::exit::Exit;
use crate::settings::{Origin, table};
use crate::terminal::{Paint, Terminal, print, print_json, width};
use crate::wiring::{Diagnosis, OpenOptions, saved_shelf, toolset};

/// On a narrower terminal there is no table.
const TABLE_COLUMNS: usize = 60;

/// The result of one check, as a line shows it.
struct DoctorCheck {
    name: &'static str,
    state: Enforcement,
    says: String,
    /// What to do if the check failed.
    fix: Option<String>,
}

impl DoctorCheck {
    fn of(name: &'static str, result: Result<String, &CliError>) -> Self {
        match result {
            Ok(says) => Self { name, state: Enforcement::Enforced, says, fix: None },
            Err(err) => Self {
                name,
                state: Enforcement::Failed,
                says: err.message.clone(),
                fix: err.hint.clone(),
            },
        }
    }

    /// Returns a line for each thing that is wrong, or the one that nothing is.
    fn each(name: &'static str, result: Result<String, &CliError>) -> Vec<Self> {
        let others = result.as_ref().err().map_or(&[][..], |err| &err.others);
        let others = others.iter().map(|err| Self::of(name, Err(err)));
        std::iter::once(Self::of(name, result.clone())).chain(others).collect()
    }

    fn good(name: &'static str, says: String) -> Self {
        Self::of(name, Ok(says))
    }

    /// A check that cannot be made before the settings can be loaded.
    fn unknown(name: &'static str) -> Self {
        let says = "not checked, because it needs the settings".to_owned();
        Self { name, state: Enforcement::Unknown, says, fix: None }
    }

    fn is_good(&self) -> bool {
        self.state == Enforcement::Enforced
    }
}

/// What was found out about each part.
pub(super) struct DoctorFindings {
    diagnosis: Diagnosis,
    checks: Vec<DoctorCheck>,
    sandbox: Vec<SandboxFinding>,
    facts: Option<Facts>,
}

impl DoctorFindings {
    /// Examines everything.
    pub(super) fn gather(options: &OpenOptions) -> Self {
        let diagnosis = Diagnosis::make(options);
        let facts = match (&diagnosis.state, &diagnosis.workspace) {
            (Ok(state), Ok(workspace)) => {
                Some(Facts::gather(&diagnosis.settings, state, workspace))
            }
            _ => None,
        };
        let (checks, sandbox) = (checks(&diagnosis), sandbox(&diagnosis));
        Self { diagnosis, checks, sandbox, facts }
    }

    fn is_well(&self) -> bool {
        self.checks.iter().all(DoctorCheck::is_good)
            && self.sandbox.iter().all(|it| it.state == Enforcement::Enforced)
    }

    /// Returns the findings, for programs.
    pub(super) fn to_json(&self) -> Value {
        let mut all = Map::new();
        for it in &self.checks {
            let check = json!({"ok": it.is_good(), "says": it.says, "fix": it.fix});
            match all.get_mut(it.name) {
                None => drop(all.insert(it.name.to_owned(), check)),
                // What else is wrong with the same part.
                Some(first) => match first["more"].as_array_mut() {
                    Some(more) => more.push(check),
                    None => first["more"] = json!([check]),
                },
            }
        }
        all.insert("sandbox".to_owned(), serde_json::to_value(&self.sandbox).unwrap_or_default());
        let facts = self.facts.as_ref().map_or(Value::Null, Facts::json);
        all.insert("search".to_owned(), facts);
        Value::Object(all)
    }

    fn lines(&self, terminal: Terminal) -> Vec<String> {
        let diagnosis = &self.diagnosis;
        let mut lines: Vec<String> = self.checks.iter().flat_map(|it| line(terminal, it)).collect();
        lines.push(String::new());
        lines.push("Sandbox".to_owned());
        if diagnosis.settings_error.is_some() && diagnosis.sandbox.is_ok() {
            lines.push("  (with the default settings)".to_owned());
        }
        if diagnosis.workspace.is_err() && diagnosis.sandbox.is_ok() {
            lines.push("  (in an empty folder, because the workspace cannot be used)".to_owned());
        }
        for it in &self.sandbox {
            lines.extend(mechanism(terminal, it));
        }
        if let Some(facts) = &self.facts {
            lines.push(String::new());
            lines.push("Search".to_owned());
            lines.extend(facts.lines().into_iter().skip(1).map(|line| format!("  {line}")));
        }
        lines
    }
}

pub(super) fn run(global: &Global, terminal: Terminal, args: &DoctorArgs) -> Exit {
    let findings = DoctorFindings::gather(&open_options(global));
    warn(terminal, &findings.diagnosis.settings);
    if args.json {
        print_json(&findings.to_json().to_string());
    } else {
        print(&wrapped_lines(&findings.lines(terminal)));
    }
    if findings.is_well() { Exit::Done } else { Exit::Failed }
}

/// Returns a check for each part, and one for what goes wrong only when all are opened together.
fn checks(diagnosis: &Diagnosis) -> Vec<DoctorCheck> {
    let shown = |path: &std::path::PathBuf| path.display().to_string();
    let settings = &diagnosis.settings;
    let mut checks = vec![
        DoctorCheck::good("version", env!("CARGO_PKG_VERSION").to_owned()),
        DoctorCheck::good("kernel", kernel()),
        DoctorCheck::of("workspace", diagnosis.workspace.as_ref().map(shown)),
    ];
    if let Some(err) = &diagnosis.settings_error {
        let edit = || "`toolcrib config edit` opens your settings file".to_owned();
        checks.extend(
            DoctorCheck::each("settings", Err(err))
                .into_iter()
                .map(|check| DoctorCheck { fix: check.fix.or_else(|| Some(edit())), ..check }),
        );
        checks.extend(["mode", "tools", "rules"].map(DoctorCheck::unknown));
    } else {
        let changed = settings.all().filter(|(_, _, origin)| **origin != Origin::Default).count();
        checks.push(DoctorCheck::good("settings", format!("{changed} changed from the default")));
        checks.push(DoctorCheck::good("mode", settings.get(table::MODE).as_str().to_owned()));
        let shelf = match &diagnosis.state {
            Ok(state) => saved_shelf(settings, state),
            Err(_) => toolcrib_tools::catalogues().into(),
        };
        let offered = toolset(settings, shelf).map(|it| format!("{} on offer", it.offers().len()));
        checks.push(match &offered {
            Ok(says) => DoctorCheck::good("tools", says.clone()),
            Err(err) => DoctorCheck::of("tools", Err(err)),
        });
        let rules = diagnosis.rules.as_ref().map(|count| format!("{count} in force"));
        checks.extend(DoctorCheck::each("rules", rules));
    }
    match super::oauth::check(settings) {
        Ok(None) => {}
        Ok(Some(issuer)) => {
            checks.push(DoctorCheck::good("oauth", format!("tokens of {issuer} are accepted")));
        }
        Err(err) => checks.push(DoctorCheck::of("oauth", Err(&err))),
    }
    checks.push(DoctorCheck::of("state", diagnosis.state.as_ref().map(shown)));
    // Calls fail with this error; it has a line of its own unless a line above already shows it.
    if let Err(err) = &diagnosis.start {
        let is_shown = checks.iter().any(|it| it.says == err.message)
            || diagnosis.sandbox.as_ref().is_err_and(|it| it.message == err.message);
        if !is_shown {
            checks.push(DoctorCheck::of("calls", Err(err)));
        }
    }
    checks
}

/// Returns what was found out about the sandbox, or the one finding that it cannot be examined.
fn sandbox(diagnosis: &Diagnosis) -> Vec<SandboxFinding> {
    let unusable = |err: &CliError| SandboxFinding {
        name: "sandbox".to_owned(),
        state: Enforcement::Failed,
        says: err.to_string(),
        fix: None,
    };
    match &diagnosis.sandbox {
        Ok(findings) => findings.clone(),
        Err(err) => vec![unusable(err)],
    }
}

/// Returns lines that go on below their text where the terminal ends.
fn wrapped_lines(lines: &[String]) -> String {
    let Some(width) = width() else { return lines.join("\n") + "\n" };
    let row = |line: &String| if width < TABLE_COLUMNS { as_text(line) } else { line.clone() };
    lines.iter().map(|line| wrapped(&row(line), "    ", width)).collect()
}

fn mark(terminal: Terminal, state: Enforcement) -> String {
    match state {
        Enforcement::Enforced => terminal.paint(Paint::Good, "✓"),
        Enforcement::Missing | Enforcement::Failed => terminal.paint(Paint::Bad, "✗"),
        Enforcement::Unknown => terminal.paint(Paint::Warn, "?"),
    }
}

fn line(terminal: Terminal, check: &DoctorCheck) -> Vec<String> {
    let says = escape::line(&check.says);
    let mut lines = vec![format!("{} {:<10} {says}", mark(terminal, check.state), check.name)];
    lines.extend(check.fix.as_ref().map(|fix| format!("  {:<10} fix: {}", "", escape::line(fix))));
    lines
}

fn mechanism(terminal: Terminal, it: &SandboxFinding) -> Vec<String> {
    let mut lines = vec![format!("  {} {:<26} {}", mark(terminal, it.state), it.name, it.says)];
    if let Some(fix) = &it.fix {
        lines.push(format!("    {:<26} fix: {fix}", ""));
    }
    lines
}

fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}
