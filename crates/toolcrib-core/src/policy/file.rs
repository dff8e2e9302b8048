//! Rules as people write them in files. Each can have examples, which are tried when the file is read.

use std::collections::HashSet;
use std::ops::Range;

use jiff::Timestamp;
use serde::Deserialize;
use toml::Spanned;

use crate::caller::{Door, Role};
use crate::command_reading::{Danger, ReadShell};
use crate::nearest::either;

use super::pattern::{PathGlob, Pattern};
use super::rule::{Callers, Layer, Rule, RuleEffect, Source, When};
use super::rule_example::{RawExample, RuleExamples, canonical};
use super::rule_shape::{MOST_NAMED_FAULTS, shape_faults};
use super::rules_error::{RuleFault, RulesError, RulesErrorKind};

/// The rules of a file.
#[derive(Clone, Debug)]
pub struct ParsedRules {
    /// The rules that hold.
    pub rules: Vec<Rule>,
    /// The rules that are ignored, and why, in sentences.
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
    principal: Option<Words>,
    role: Option<Words>,
    door: Option<Words>,
    argv: Option<Vec<Words>>,
    #[serde(default)]
    exact: bool,
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
    #[serde(default = "enabled")]
    enabled: bool,
    #[serde(default)]
    covers: Vec<RawExample>,
    #[serde(default)]
    spares: Vec<RawExample>,
}

fn enabled() -> bool {
    true
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

/// Reads the rules in the text of `file`. With a `shell`, it also tries their patterns and examples. A single wrong
/// rule makes the whole file unusable: half a policy is none. The error has every rule that is wrong.
pub fn rules_in(
    text: &str,
    file: &str,
    layer: Layer,
    shell: Option<&dyn ReadShell>,
) -> Result<ParsedRules, RulesError> {
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let line_of = |at: usize| ends.partition_point(|end| *end < at) + 1;
    let place = |line: usize| format!("`{file}`, line {line}");
    let raw: RawFile = toml::from_str(text).map_err(|err| {
        let at = |(line, fault): (usize, RuleFault)| fault.at(place(line));
        let faults: Vec<RulesError> = shape_faults(text).into_iter().map(at).collect();
        let line = err.span().map_or(1, |span| line_of(span.start));
        let syntax = RuleFault::new(RulesErrorKind::Syntax, err.message().trim_end());
        RulesError::all(faults).err().unwrap_or_else(|| syntax.at(place(line)))
    })?;
    if layer == Layer::Project && raw.rule.len() > MOST_PROJECT_RULES {
        let message = format!("it has more than {MOST_PROJECT_RULES} rules");
        let fault = RuleFault::new(RulesErrorKind::TooLarge, message)
            .hint("move some of them to `/etc/toolcrib/rules.toml` or to your own rules file");
        return Err(fault.at(format!("`{file}`")));
    }
    let mut checks = RuleChecks { layer, shell, example_bytes: 0, ids: HashSet::new() };
    let mut parsed = ParsedRules { rules: Vec::new(), warnings: Vec::new() };
    let mut errors = Vec::new();
    let spans: Vec<Range<usize>> = raw.rule.iter().map(Spanned::span).collect();
    for (at, raw) in raw.rule.into_iter().enumerate() {
        let line = line_of(raw.span().start);
        let source = Source { file: file.to_owned(), line };
        let is_enabled = raw.get_ref().enabled;
        match checks.check(raw.into_inner(), source) {
            Err(fault) => errors.push(fault.at(place(line))),
            // A disabled rule is checked like any other, so that enabling it brings no surprise.
            Ok(_) if !is_enabled => {}
            Ok(rule) if layer == Layer::Project && rule.effect == RuleEffect::Allow => {
                parsed.warnings.push(format!(
                    "`{file}`, line {line}: `{}` is ignored: a project can only tighten",
                    rule.id
                ));
            }
            Ok(rule) => {
                let text = written(text, &spans, at);
                parsed.rules.push(Rule { text, ..rule });
            }
        }
        let is_too_long = checks.example_bytes > MOST_PROJECT_EXAMPLE_BYTES;
        // Whoever can write to a project must not be able to keep everyone else waiting.
        if layer == Layer::Project && is_too_long || errors.len() >= MOST_NAMED_FAULTS {
            break;
        }
    }
    RulesError::all(errors).map(|()| parsed)
}

/// Returns the text of a rule as it is written: up to the next one, without the comment that belongs to that.
fn written(text: &str, spans: &[Range<usize>], at: usize) -> String {
    let line_start = |at: usize| text[..at].rfind('\n').map_or(0, |end| end + 1);
    let begin = line_start(spans[at].start);
    if !text[begin..].trim_start().starts_with("[[") {
        // It is an inline table.
        return text[spans[at].clone()].to_owned();
    }
    let end = spans.get(at + 1).map_or(text.len(), |next| line_start(next.start));
    let is_about_next = |line: &&str| line.trim_start().starts_with('#') || line.trim().is_empty();
    let lines: Vec<&str> = text[begin..end].lines().collect();
    let own = lines.len() - lines.iter().rev().take_while(|line| is_about_next(line)).count();
    lines[..own].join("\n")
}

/// What the checks of the rules of one file share.
struct RuleChecks<'a> {
    layer: Layer,
    shell: Option<&'a dyn ReadShell>,
    /// How many bytes the examples so far have.
    example_bytes: usize,
    ids: HashSet<String>,
}

impl RuleChecks<'_> {
    /// Returns the rule, if nothing is wrong with it.
    fn check(&mut self, raw: RawRule, source: Source) -> Result<Rule, RuleFault> {
        let (rule, examples) = read_rule(raw, source, self.layer)?;
        if let Some(shell) = self.shell {
            check_patterns(&rule)?;
            self.example_bytes += examples.size();
            if self.layer == Layer::Project && self.example_bytes > MOST_PROJECT_EXAMPLE_BYTES {
                let message =
                    format!("its examples have more than {MOST_PROJECT_EXAMPLE_BYTES} bytes");
                return Err(RuleFault::new(RulesErrorKind::TooLarge, message));
            }
            examples.try_on(&rule, shell)?;
        }
        if !self.ids.insert(rule.id.clone()) {
            let message = format!("another rule already has the id `{}`", rule.id);
            return Err(RuleFault::new(RulesErrorKind::Duplicate, message));
        }
        Ok(rule)
    }
}

fn check_patterns(rule: &Rule) -> Result<(), RuleFault> {
    for (name, pattern) in [("words", &rule.when.words), ("args", &rule.when.args)] {
        let checked = pattern.as_ref().map_or(Ok(()), Pattern::check);
        checked.map_err(|why| RuleFault::field(format!("`{name}` {why}")))?;
    }
    Ok(())
}

fn read_rule(
    raw: RawRule,
    source: Source,
    layer: Layer,
) -> Result<(Rule, RuleExamples), RuleFault> {
    let effect = RuleEffect::parse(&raw.effect).ok_or_else(|| {
        let words = RuleEffect::ALL.map(RuleEffect::as_str);
        RuleFault::field(format!("`effect` must be {}, not `{}`", either(&words), raw.effect))
    })?;
    let dangers = spelt("danger", raw.danger, Danger::parse, &Danger::ALL.map(Danger::as_str))?;
    let expires = raw.expires.as_ref().map(expiry).transpose()?;
    let argv = raw.argv.map(|argv| argv.into_iter().map(Words::list).collect::<Vec<_>>());
    argv.as_deref().map_or(Ok(()), check_argv)?;
    let when = When {
        argv,
        exact: raw.exact,
        words: raw.words.as_deref().map(Pattern::new),
        dangers,
        paths: globs("paths", raw.paths)?,
        writes: globs("writes", raw.writes)?,
        hosts: hosts(named("hosts", raw.hosts)?)?,
        args: raw.args.as_deref().map(Pattern::new),
        call: raw.call.map(|args| canonical(&args)).transpose()?,
        edits_below: None,
        runs_later: None,
    };
    let tools: Vec<String> =
        raw.tool.list().iter().map(|it| crate::escape::line(it).into_owned()).collect();
    if when.exact && when.argv.is_none() {
        let fault = RuleFault::new(RulesErrorKind::Contradiction, "`exact` needs `argv`");
        return Err(fault.hint("name all words of the command with `argv`, or leave `exact` out"));
    }
    if effect == RuleEffect::Allow {
        check_allows(&when, &tools, layer)?;
    }
    if raw.confirm && effect != RuleEffect::Ask {
        let message = "only a rule that asks can have `confirm`";
        return Err(RuleFault::new(RulesErrorKind::Contradiction, message));
    }
    let id = raw.id.unwrap_or_else(|| format!("line {}", source.line));
    let rule = Rule {
        id: crate::escape::line(&id).into_owned(),
        source,
        layer,
        tools,
        callers: Callers {
            principals: named("principal", raw.principal)?,
            roles: spelt("role", raw.role, Role::parse, &Role::ALL.map(Role::as_str))?,
            doors: spelt("door", raw.door, Door::parse, &Door::ALL.map(Door::as_str))?,
        },
        when,
        effect,
        because: crate::escape::line(&raw.because).into_owned(),
        expires,
        // A project cannot let an agent's confirmation replace a person's answer.
        confirm: raw.confirm && layer != Layer::Project,
        text: String::new(),
    };
    Ok((rule, RuleExamples { covers: raw.covers, spares: raw.spares }))
}

fn expiry(value: &toml::Value) -> Result<Timestamp, RuleFault> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.parse::<Timestamp>().map_err(|err| {
        RuleFault::field(format!(
            "`expires` must be a time such as 2027-01-31T12:00:00Z, not `{text}`: {err}"
        ))
    })
}

/// Fails if a rule that allows has conditions that cannot allow, or none at all.
fn check_allows(when: &When, tools: &[String], layer: Layer) -> Result<(), RuleFault> {
    let fault = |message: &str| RuleFault::new(RulesErrorKind::Contradiction, message);
    if when.words.is_some() || !when.dangers.is_empty() {
        return Err(fault("a rule that allows cannot use `words` or `danger`")
            .hint("name the words of the command with `argv`"));
    }
    if when.argv.is_some() && when.is_about_paths() {
        return Err(fault("a rule that allows cannot combine `argv` with `paths` or `writes`")
            .hint(
                "leave `paths` and `writes` out, and protect other paths with a rule that asks or denies",
            ));
    }
    // A project's rule that allows is ignored anyway.
    if tools.is_empty() && is_without_conditions(when) && layer != Layer::Project {
        return Err(fault("it allows everything")
            .hint("name a tool, a command, a path or arguments; for a looser policy set `mode`"));
    }
    Ok(())
}

/// Returns the words of a list. An empty list would be about nothing, or about everything.
fn named(name: &str, words: Option<Words>) -> Result<Vec<String>, RuleFault> {
    let Some(words) = words.map(Words::list) else { return Ok(Vec::new()) };
    if words.is_empty() {
        return Err(
            RuleFault::field(format!("`{name}` is empty")).hint("add a value, or leave it out")
        );
    }
    Ok(words)
}

/// Returns the values that words stand for. `all` are the words that there are.
fn spelt<T>(
    name: &str,
    words: Option<Words>,
    parse: impl Fn(&str) -> Option<T>,
    all: &[&str],
) -> Result<Vec<T>, RuleFault> {
    let read = |word: String| {
        parse(&word).ok_or_else(|| {
            RuleFault::field(format!("`{name}` must be {}, not `{word}`", either(all)))
        })
    };
    named(name, words)?.into_iter().map(read).collect()
}

fn globs(name: &str, patterns: Option<Words>) -> Result<Vec<PathGlob>, RuleFault> {
    let glob = |pattern: String| {
        let never = |hint: &str| {
            Err(RuleFault::field(format!("`{name}`: `{pattern}` matches nothing")).hint(hint))
        };
        if pattern.starts_with("./") {
            return never("paths are relative to the workspace: leave `./` out");
        }
        if pattern.starts_with('~') {
            return never("write the home folder as a path from `/`");
        }
        if pattern.starts_with("../") {
            return never("write a path outside the workspace from `/`");
        }
        if pattern.split('/').any(|part| part == ".." || part == ".") {
            return never("write it without `.` and `..`");
        }
        if pattern.len() > 1 && pattern.ends_with('/') {
            return never(&format!("write `{pattern}**` for everything in that folder"));
        }
        PathGlob::new(&pattern).map_err(|err| RuleFault::field(format!("`{name}`: {err}")))
    };
    named(name, patterns)?.into_iter().map(glob).collect()
}

/// Fails if a host is none that a URL could name.
fn hosts(hosts: Vec<String>) -> Result<Vec<String>, RuleFault> {
    let check = |host: String| {
        let name = host.strip_prefix("*.").unwrap_or(&host);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-.:_".contains(c);
        if name.is_empty() || !name.chars().all(is_plain) || name.ends_with('.') {
            return Err(RuleFault::field(format!("`hosts`: `{host}` is not a host name")).hint(
                "write a name such as `example.com`, or `*.example.com` for its subdomains",
            ));
        }
        Ok(host.to_ascii_lowercase())
    };
    hosts.into_iter().map(check).collect()
}

/// Fails if a word is one that no program is ever called by.
fn check_argv(argv: &[Vec<String>]) -> Result<(), RuleFault> {
    if argv.is_empty() || argv.iter().any(Vec::is_empty) {
        return Err(RuleFault::field("`argv` is empty, or has an empty list of alternatives"));
    }
    let odd = argv[0].iter().find(|word| word.contains([' ', '*', '\t']));
    odd.map_or(Ok(()), |word| {
        Err(RuleFault::field(format!("`argv`: no program is called `{word}`"))
            .hint("write each word of the command by itself, without wildcards"))
    })
}

/// Whether a rule has no conditions.
fn is_without_conditions(when: &When) -> bool {
    !when.is_about_commands()
        && !when.is_about_paths()
        && when.hosts.is_empty()
        && when.args.is_none()
        && when.call.is_none()
}

/// The most rules in a project's file.
const MOST_PROJECT_RULES: usize = 1000;

/// The most bytes of examples in a project's file.
const MOST_PROJECT_EXAMPLE_BYTES: usize = 32 << 10;
