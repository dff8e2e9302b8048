//! What a project's settings file, or the environment, may make of a value: never anything looser.

use toml::Value;
use toolcrib_core::ToolName;

use super::layer::Origin;
use super::setting::{EmptyList, Project, Setting, SettingKind};

/// Returns the value that a project's request leads to, or why the request is ignored.
pub(super) fn tightened(
    setting: &Setting,
    (current, origin): &(Value, Origin),
    requested: Value,
) -> Result<Value, &'static str> {
    let loosens = Err("a project can only tighten this setting");
    match setting.project {
        Project::OperatorOnly => Err("a project may not set this"),
        Project::Only(word) => {
            if requested.as_str() == Some(word) {
                Ok(requested)
            } else {
                loosens
            }
        }
        Project::Stricter => {
            let SettingKind::Choice(words) = setting.kind else { return loosens };
            let rank = |value: &Value| words.iter().position(|word| value.as_str() == Some(word));
            if rank(&requested) <= rank(current) { Ok(requested) } else { loosens }
        }
        Project::Smaller => {
            if requested.as_integer() <= current.as_integer() {
                Ok(requested)
            } else {
                loosens
            }
        }
        Project::Subset(empty) => {
            let (Value::Array(wanted), Value::Array(held)) = (&requested, current) else {
                return loosens;
            };
            let is_subset = match empty {
                EmptyList::Everything => {
                    let is_narrower = !wanted.is_empty()
                        && (held.is_empty() || wanted.iter().all(|item| is_within(item, held)));
                    is_narrower || wanted == held
                }
                EmptyList::EverythingUntilSet => {
                    *origin == Origin::Default || wanted.iter().all(|item| is_within(item, held))
                }
                EmptyList::Nothing => wanted.iter().all(|item| held.contains(item)),
            };
            if is_subset { Ok(requested) } else { loosens }
        }
        Project::More => {
            let (Value::Array(wanted), Value::Array(held)) = (requested, current) else {
                return loosens;
            };
            let mut all = held.clone();
            all.extend(wanted.into_iter().filter(|item| !held.contains(item)));
            Ok(Value::Array(all))
        }
    }
}

/// Returns whether a toolset holds this catalogue or tool.
fn is_within(item: &Value, held: &[Value]) -> bool {
    let name = ToolName::from(item.as_str().unwrap_or_default());
    let is_it = |held: &str| name == held || name.catalogue() == Some(held);
    held.iter().filter_map(Value::as_str).any(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::table::settings;

    #[track_caller]
    fn check(name: &str, current: &str, requested: &str, expect: Option<&str>) {
        let value = |text: &str| {
            let mut table: toml::Table = format!("it = {text}").parse().unwrap();
            table.remove("it").unwrap()
        };
        let setting = settings().find(|setting| setting.name == name).unwrap();
        let held = (value(current), Origin::Flag("-c".to_owned()));
        let got = tightened(setting, &held, value(requested)).ok();
        assert_eq!(got, expect.map(value), "{name}: {current} to {requested}");
    }

    #[test]
    fn a_project_can_tighten_and_nothing_else() {
        check("mode", "'standard'", "'strict'", Some("'strict'"));
        check("mode", "'standard'", "'permissive'", None);
        check("mode", "'strict'", "'standard'", None);
        check("limits.deadline_ms", "1000", "500", Some("500"));
        check("limits.deadline_ms", "1000", "2000", None);
        // A list that somebody set to nothing has nothing to offer. One that nobody set offers all.
        check("toolset", "[]", "['wink']", None);
        let toolset = settings().find(|setting| setting.name == "toolset").unwrap();
        let unset = (toolset.default.value(), Origin::Default);
        for wanted in [Value::Array(vec!["wink".into()]), Value::Array(Vec::new())] {
            assert_eq!(tightened(toolset, &unset, wanted.clone()), Ok(wanted));
        }
        check("toolset", "['wink']", "['wink/read_file']", Some("['wink/read_file']"));
        check("toolset", "['wink']", "['clemini']", None);
        check("toolset", "['wink']", "[]", Some("[]"));
        check("sandbox.egress", "['a.example']", "[]", Some("[]"));
        check("sandbox.egress", "[]", "['a.example']", None);
        check("roots", "[]", "['/']", None);
        check("files.protected", "['a']", "['b']", Some("['a', 'b']"));
        check("files.hardlinks", "'refuse'", "'allow'", None);
        check("hikai.connection", "'workspace'", "'/etc'", None);
        check("hikai.connection", "'workspace'", "'none'", Some("'none'"));
    }
}
