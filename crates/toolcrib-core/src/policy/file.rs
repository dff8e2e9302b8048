//! Rules as they are written in files, each with examples that are tried when the file is read.

use std::collections::HashSet;
use std::fmt;

use jiff::Timestamp;
use serde::Deserialize;
use toml::Spanned;

use crate::hosts::{hosts_in, hosts_named};
use crate::nearest::either;
use crate::reading::{Danger, ReadShell};

use super::book::{Policy, Subject};
use super::pattern::{PathGlob, Pattern};
use super::rule::{Layer, Rule, Says, Source, When};
use super::{Mode, Tier, Verdict};

/// Why a file's rules cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub struct RulesError(pub String);

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RulesError {}

/// What was read from a file.
#[derive(Debug)]
pub struct Said {
    /// The rules that hold.
    pub rules: Vec<Rule>,
    /// What does not hold, and why.
    pub warnings: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    #[serde(default)]
    rule: Vec<Spanned<RawRule>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    id: Option<String>,
    #[serde(default)]
    tool: Words,
    argv: Option<Vec<Words>>,
    words: Option<String>,
    danger: Option<Words>,
    paths: Option<Words>,
    writes: Option<Words>,
    hosts: Option<Words>,
    args: Option<String>,
    call: Option<toml::Table>,
    effect: String,
    #[serde(default)]
    because: String,
    expires: Option<toml::Value>,
    #[serde(default)]
    confirm: bool,
    #[serde(default)]
    covers: Vec<RawExample>,
    #[serde(default)]
    spares: Vec<RawExample>,
}

/// One word or several.
#[derive(Default, Deserialize)]
#[serde(untagged)]
enum Words {
    #[default]
    None,
    One(String),
    Many(Vec<String>),
}

impl Words {
    fn list(self) -> Vec<String> {
        match self {
            Self::None => Vec::new(),
            Self::One(word) => vec![word],
            Self::Many(words) => words,
        }
    }
}

/// A call that a rule is, or is not, about: a command, a path, a host, or arguments.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawExample {
    Text(String),
    Args(toml::Table),
}

/// Reads the rules in the text of `file`, and with a `shell` that reads commands tries their patterns and
/// examples. One that is wrong makes all of them unusable: half a policy is none.
pub fn rules_in(
    text: &str,
    file: &str,
    layer: Layer,
    shell: Option<&dyn ReadShell>,
) -> Result<Said, RulesError> {
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let line_of = |at: usize| ends.partition_point(|end| *end < at) + 1;
    let raw: RawFile = toml::from_str(text).map_err(|err| {
        let line = err.span().map_or(1, |span| line_of(span.start));
        RulesError(format!("`{file}`, line {line}: {}", err.message().trim_end()))
    })?;
    let mut said = Said { rules: Vec::new(), warnings: Vec::new() };
    let (mut tried, mut ids) = (0, HashSet::new());
    if layer == Layer::Project && raw.rule.len() > MOST_RULES {
        let why = format!("it has over {MOST_RULES} rules: those are the operator's to write");
        return Err(RulesError(format!("`{file}`: {why}")));
    }
    for raw in raw.rule {
        let line = line_of(raw.span().start);
        let refuse = |why: String| RulesError(format!("`{file}`, line {line}: {why}"));
        let raw = raw.into_inner();
        let source = Source { file: file.to_owned(), line };
        let (rule, examples) = read_rule(raw, source, layer).map_err(refuse)?;
        if let Some(shell) = shell {
            for (name, pattern) in [("words", &rule.when.words), ("args", &rule.when.args)] {
                let checked = pattern.as_ref().map_or(Ok(()), Pattern::check);
                checked.map_err(|why| refuse(format!("`{name}` {why}")))?;
            }
            tried += examples.size();
            // Whoever can write to a project must not be able to keep everyone else waiting.
            if layer == Layer::Project && tried > MOST_EXAMPLES {
                return Err(refuse(format!("its examples are over {MOST_EXAMPLES} bytes")));
            }
            examples.try_on(&rule, shell).map_err(refuse)?;
        }
        if !ids.insert(rule.id.clone()) {
            return Err(refuse(format!("a second rule `{}`", rule.id)));
        }
        if layer == Layer::Project && rule.says == Says::Allow {
            said.warnings.push(format!(
                "`{file}`, line {line}: `{}` is ignored: a project can only tighten",
                rule.id
            ));
            continue;
        }
        said.rules.push(rule);
    }
    Ok(said)
}

struct Examples {
    covers: Vec<RawExample>,
    spares: Vec<RawExample>,
}

fn read_rule(raw: RawRule, source: Source, layer: Layer) -> Result<(Rule, Examples), String> {
    let words = Says::ALL.map(Says::as_str);
    let says = Says::parse(&raw.effect)
        .ok_or_else(|| format!("`effect` must be {}, not `{}`", either(&words), raw.effect))?;
    let dangers = named("danger", raw.danger)?.into_iter().map(|name| {
        let names = Danger::ALL.map(Danger::as_str);
        Danger::parse(&name)
            .ok_or_else(|| format!("`danger` must be {}, not `{name}`", either(&names)))
    });
    let expires = match &raw.expires {
        Some(value) => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            Some(text.parse::<Timestamp>().map_err(|err| {
                format!(
                    "`expires` must be a time such as 2027-01-31T12:00:00Z, not `{text}`: {err}"
                )
            })?)
        }
        None => None,
    };
    let argv = raw.argv.map(|argv| argv.into_iter().map(Words::list).collect::<Vec<_>>());
    argv.as_deref().map_or(Ok(()), check_argv)?;
    let when = When {
        argv,
        words: raw.words.as_deref().map(Pattern::new),
        dangers: dangers.collect::<Result<_, _>>()?,
        paths: globs("paths", raw.paths)?,
        writes: globs("writes", raw.writes)?,
        hosts: hosts(named("hosts", raw.hosts)?)?,
        args: raw.args.as_deref().map(Pattern::new),
        call: raw.call.map(|args| canonical(&args)).transpose()?,
    };
    if says == Says::Allow && (when.words.is_some() || !when.dangers.is_empty()) {
        return Err("`words` and `danger` cannot allow: name the words of the command with `argv`"
            .to_owned());
    }
    if says == Says::Allow && when.argv.is_some() && when.is_about_paths() {
        return Err("`argv` allows a command by its words alone, wherever its paths lead: leave `paths` and `writes` \
                    out, and keep it from other paths with a rule that asks or denies"
            .to_owned());
    }
    let tools: Vec<String> =
        raw.tool.list().iter().map(|it| crate::escape::line(it).into_owned()).collect();
    let is_about_all = tools.is_empty() && is_without_conditions(&when);
    if says == Says::Allow && is_about_all && layer != Layer::Project {
        return Err(
            "it allows everything: name a tool, a command, a path or arguments; `mode` is for less"
                .to_owned(),
        );
    }
    if raw.confirm && says != Says::Ask {
        return Err("only a rule that asks can have `confirm`".to_owned());
    }
    let id = raw.id.unwrap_or_else(|| format!("line {}", source.line));
    let id = crate::escape::line(&id).into_owned();
    let rule = Rule {
        id,
        source,
        layer,
        tools,
        when,
        says,
        because: crate::escape::line(&raw.because).into_owned(),
        expires,
        // Where a person would be asked, a project cannot make the agent's word do.
        confirm: raw.confirm && layer != Layer::Project,
    };
    Ok((rule, Examples { covers: raw.covers, spares: raw.spares }))
}

/// The words of a list. One that is there and empty would be about nothing, or about everything.
fn named(name: &str, words: Option<Words>) -> Result<Vec<String>, String> {
    let Some(words) = words.map(Words::list) else { return Ok(Vec::new()) };
    if words.is_empty() {
        return Err(format!("`{name}` is empty: write what it is to be, or leave it out"));
    }
    Ok(words)
}

fn globs(name: &str, patterns: Option<Words>) -> Result<Vec<PathGlob>, String> {
    let patterns = named(name, patterns)?;
    let glob = |pattern: String| {
        let never = [
            ("./", "paths are below the workspace: leave `./` out"),
            ("~", "write the home as a path from `/`"),
            ("../", "a path outside is written from `/`"),
        ];
        if let Some((_, why)) = never.iter().find(|(start, _)| pattern.starts_with(start)) {
            return Err(format!("`{name}`: `{pattern}` is never there: {why}"));
        }
        if pattern.split('/').any(|part| part == ".." || part == ".") {
            return Err(format!(
                "`{name}`: `{pattern}` is never there: write it without `.` and `..`"
            ));
        }
        if pattern.len() > 1 && pattern.ends_with('/') {
            let hint = format!("write `{pattern}**` for all that is in it");
            return Err(format!("`{name}`: `{pattern}` is never there: {hint}"));
        }
        PathGlob::new(&pattern).map_err(|err| format!("`{name}`: {err}"))
    };
    patterns.into_iter().map(glob).collect()
}

/// Fails if a host is none that an address could name.
fn hosts(hosts: Vec<String>) -> Result<Vec<String>, String> {
    let check = |host: String| {
        let name = host.strip_prefix("*.").unwrap_or(&host);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-.:_".contains(c);
        if name.is_empty() || !name.chars().all(is_plain) || name.ends_with('.') {
            let hint = "write a name such as `example.com`, or `*.example.com` for those below it";
            return Err(format!("`hosts`: `{host}` is no host: {hint}"));
        }
        Ok(host.to_ascii_lowercase())
    };
    hosts.into_iter().map(check).collect()
}

/// Fails if a word is one that no program is ever called by.
fn check_argv(argv: &[Vec<String>]) -> Result<(), String> {
    if argv.is_empty() || argv.iter().any(Vec::is_empty) {
        return Err("`argv` has a place without a word".to_owned());
    }
    let odd = argv[0].iter().find(|word| word.contains([' ', '*', '\t']));
    odd.map_or(Ok(()), |word| {
        Err(format!("`argv`: no program is called `{word}`: each word stands alone, as it is"))
    })
}

/// Whether nothing of a call is looked at.
fn is_without_conditions(when: &When) -> bool {
    !when.is_about_commands()
        && !when.is_about_paths()
        && when.hosts.is_empty()
        && when.args.is_none()
        && when.call.is_none()
}

/// Arguments as canonical text, keys in the order they are written in.
fn canonical(args: &toml::Table) -> Result<String, String> {
    let json = serde_json::to_value(args).map_err(|err| err.to_string())?;
    Ok(json.to_string())
}

/// The most rules in a project's file.
const MOST_RULES: usize = 1000;

/// The most bytes of examples in a project's file.
const MOST_EXAMPLES: usize = 32 << 10;

impl Examples {
    fn size(&self) -> usize {
        let all = self.covers.iter().chain(&self.spares);
        all.map(|example| match example {
            RawExample::Text(text) => text.len(),
            RawExample::Args(args) => args.to_string().len(),
        })
        .sum()
    }

    fn try_on(self, rule: &Rule, shell: &dyn ReadShell) -> Result<(), String> {
        for (examples, expect) in [(&self.covers, true), (&self.spares, false)] {
            for example in examples {
                let (shown, covers) = match example {
                    RawExample::Text(text) => (text.clone(), covers_text(rule, text, shell)?),
                    RawExample::Args(args) => {
                        let text = canonical(args)?;
                        let covers = covers_args(rule, &text, args, shell);
                        (text, covers)
                    }
                };
                if covers != expect {
                    let verb = if expect { "does not cover" } else { "does not spare" };
                    return Err(format!("`{}` {verb} its example `{shown}`", rule.id));
                }
            }
        }
        Ok(())
    }
}

fn covers_text(rule: &Rule, text: &str, shell: &dyn ReadShell) -> Result<bool, String> {
    let own = [text.to_owned()];
    let when = &rule.when;
    if when.is_about_commands() {
        let reading = shell.read(text);
        let mut hosts = hosts_in(&serde_json::Value::Null, Some(&reading));
        hosts.extend(hosts_named(&reading).unwrap_or_default());
        let subject = Subject { reading: Some(&reading), hosts: &hosts, ..nothing(rule, "") };
        return Ok(covers(rule, &subject));
    }
    let subject = match (when.paths.is_empty() && when.writes.is_empty(), when.hosts.is_empty()) {
        (false, _) if when.paths.is_empty() => Subject { writes: &own, ..nothing(rule, "") },
        (false, _) => Subject { reads: &own, ..nothing(rule, "") },
        (true, false) => Subject { hosts: &own, ..nothing(rule, "") },
        (true, true) if when.args.is_some() => return Ok(covers(rule, &nothing(rule, text))),
        (true, true) => {
            return Err(format!("`{}` has an example, and nothing to try it on", rule.id));
        }
    };
    Ok(covers(rule, &subject))
}

fn covers_args(rule: &Rule, text: &str, args: &toml::Table, shell: &dyn ReadShell) -> bool {
    let command = args.get("command").and_then(toml::Value::as_str).map(|text| shell.read(text));
    let path = args.get("path").or_else(|| args.get("file_path")).and_then(toml::Value::as_str);
    let paths: Vec<String> = path.map(str::to_owned).into_iter().collect();
    let subject =
        Subject { reads: &paths, writes: &paths, reading: command.as_ref(), ..nothing(rule, text) };
    covers(rule, &subject)
}

/// Whether a rule alone decides a call.
fn covers(rule: &Rule, subject: &Subject<'_>) -> bool {
    let rule = Rule { layer: Layer::Operator, expires: None, ..rule.clone() };
    if rule.says == Says::Allow {
        let alone = Policy::new(Mode::Standard, vec![rule]);
        return alone.decide(subject, Timestamp::UNIX_EPOCH, &[]).verdict() == Verdict::Allow;
    }
    rule.touches(subject)
}

/// A call of the rule's tool that does nothing, and would be asked about.
fn nothing<'a>(rule: &'a Rule, canonical: &'a str) -> Subject<'a> {
    Subject {
        tool: rule.tools.first().map_or("", String::as_str),
        tier: Tier::Restricted,
        canonical,
        root: "",
        reads: &[],
        writes: &[],
        hosts: &[],
        reading: None,
    }
}
