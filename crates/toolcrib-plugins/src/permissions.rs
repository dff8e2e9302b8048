//! What a plugin asks for beyond computing, and how that compares with the operator's maximum and with an earlier
//! version.

use serde::{Deserialize, Serialize};
use toolcrib_core::{Effect, Tier};

/// What a plugin may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Permissions {
    /// The files and folders that it reads, relative to the root.
    pub read: Vec<String>,
    /// The files and folders that it writes, relative to the root.
    pub write: Vec<String>,
    /// The hosts that it fetches from: a name, or `*.` and a name for every host below it.
    pub hosts: Vec<String>,
    /// The tools that it calls, by full or bare name.
    pub tools: Vec<String>,
    /// The names of the secrets that it gets.
    pub secrets: Vec<String>,
    /// The folders of its own that stay, each with its name, its path and its mode. Only programs have them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<String>,
}

/// One thing that a plugin asks for: a list of the permissions, and an entry of that list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PermissionEntry {
    /// The list: `read`, `write`, `hosts`, `tools`, `secrets` or `volumes`.
    pub list: String,
    /// The entry.
    pub entry: String,
}

/// What changed in the permissions between two versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionChanges {
    /// What only the newer version asks for.
    pub added: Vec<PermissionEntry>,
    /// What only the older version asked for.
    pub removed: Vec<PermissionEntry>,
}

impl Permissions {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.lists().iter().all(|(_, entries)| entries.is_empty())
    }

    /// Returns each list with its name.
    pub fn lists(&self) -> [(&'static str, &[String]); 6] {
        let Self { read, write, hosts, tools, secrets, volumes } = self;
        [
            ("read", read),
            ("write", write),
            ("hosts", hosts),
            ("tools", tools),
            ("secrets", secrets),
            ("volumes", volumes),
        ]
    }

    /// Returns everything that is asked for, in the order of the lists.
    pub fn entries(&self) -> Vec<PermissionEntry> {
        let lists = self.lists();
        let all = lists.iter().flat_map(|(list, entries)| {
            entries.iter().map(|it| PermissionEntry { list: (*list).to_owned(), entry: it.clone() })
        });
        all.collect()
    }

    /// Returns what these permissions have and `max` does not cover.
    pub fn beyond(&self, max: &Self) -> Vec<PermissionEntry> {
        let covered = |asked: &PermissionEntry| match asked.list.as_str() {
            "read" => max.may_read(&asked.entry),
            "write" => max.may_write(&asked.entry),
            "hosts" => max.may_reach(&asked.entry),
            "tools" => max.may_call(&asked.entry),
            "secrets" => max.secrets.contains(&asked.entry),
            // Their size is bounded, and nobody else is reached by them.
            _ => true,
        };
        self.entries().into_iter().filter(|asked| !covered(asked)).collect()
    }

    /// Returns what changed since the permissions of an older version.
    pub fn changes_since(&self, old: &Self) -> PermissionChanges {
        let (new_entries, old_entries) = (self.entries(), old.entries());
        let only = |these: &[PermissionEntry], others: &[PermissionEntry]| {
            these.iter().filter(|it| !others.contains(it)).cloned().collect()
        };
        PermissionChanges {
            added: only(&new_entries, &old_entries),
            removed: only(&old_entries, &new_entries),
        }
    }

    /// Whether the path lies below a folder that may be read. A path with `..` never does.
    pub fn may_read(&self, path: &str) -> bool {
        self.read.iter().any(|above| is_below(path, above))
    }

    /// Whether the path lies below a folder that may be written. A path with `..` never does.
    pub fn may_write(&self, path: &str) -> bool {
        self.write.iter().any(|above| is_below(path, above))
    }

    /// Whether the host may be fetched from.
    pub fn may_reach(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        self.hosts.iter().any(|allowed| {
            let allowed = allowed.to_ascii_lowercase();
            match allowed.strip_prefix("*.") {
                // `*.` asked for is covered by the same `*.`, or by one above it.
                Some(above) => {
                    host == allowed
                        || host
                            .strip_suffix(above)
                            .is_some_and(|below| below.len() > 1 && below.ends_with('.'))
                }
                None => host == allowed,
            }
        })
    }

    /// Whether the tool may be called. A bare name in the list stands for that tool of any catalogue.
    pub fn may_call(&self, tool: &str) -> bool {
        let bare = tool.rsplit_once('/').map_or(tool, |(_, bare)| bare);
        self.tools.iter().any(|allowed| allowed == tool || allowed == bare)
    }

    /// Returns what a plugin with these permissions does to the world.
    pub fn effect(&self) -> Effect {
        if !(self.write.is_empty() && self.hosts.is_empty() && self.tools.is_empty()) {
            Effect::Write
        } else if self.read.is_empty() {
            Effect::Compute
        } else {
            Effect::Read
        }
    }

    /// Returns the lowest tier that a plugin with these permissions can have.
    pub fn lowest_tier(&self) -> Tier {
        match self.effect() {
            Effect::Write => Tier::Elevated,
            Effect::None | Effect::Compute if self.secrets.is_empty() => Tier::Safe,
            Effect::None | Effect::Compute | Effect::Read => Tier::Standard,
        }
    }
}

/// Whether the path is `above` or lies below it, by component. Nothing outside the root lies below anything.
fn is_below(path: &str, above: &str) -> bool {
    match (components(path), components(above)) {
        (Some(path), Some(above)) => path.starts_with(&above),
        _ => false,
    }
}

/// Returns the components of a relative path; nothing for an absolute path or one with `..`. A name between `$'` and `'`
/// is a spelling of another name, which could be `..`, so it is none.
fn components(path: &str) -> Option<Vec<&str>> {
    if path.starts_with('/') || path.contains('\0') || path.contains("$'") {
        return None;
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    (!parts.contains(&"..")).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str]) -> Vec<String> {
        entries.iter().map(|entry| (*entry).to_owned()).collect()
    }

    #[test]
    fn a_path_is_covered_by_component_and_never_by_dots() {
        let max = Permissions { read: list(&["logs", "./data/in"]), ..Permissions::default() };
        for inside in ["logs", "logs/app.log", "./logs//a", "data/in/x"] {
            assert!(max.may_read(inside), "{inside}");
        }
        for outside in [
            "logs2",
            "data",
            "logs/../secret",
            "/logs/a",
            "../logs",
            "logs/a\0",
            "logs/$'..'/x",
            "logs/$'a'",
        ] {
            assert!(!max.may_read(outside), "{outside}");
        }
        assert!(!max.may_write("logs/app.log"), "to read is not to write");
        let all = Permissions { write: list(&["."]), ..Permissions::default() };
        assert!(all.may_write("any/file") && !all.may_write("any/../../file"));
    }

    #[test]
    fn a_host_is_covered_by_its_name_or_by_a_star_above_it() {
        let max =
            Permissions { hosts: list(&["api.test", "*.cdn.test"]), ..Permissions::default() };
        for inside in
            ["api.test", "API.test.", "a.cdn.test", "a.b.cdn.test", "*.cdn.test", "*.a.cdn.test"]
        {
            assert!(max.may_reach(inside), "{inside}");
        }
        for outside in ["cdn.test", "x.api.test", "evilcdn.test", "*.test", ".cdn.test"] {
            assert!(!max.may_reach(outside), "{outside}");
        }
    }

    #[test]
    fn what_is_beyond_the_maximum_is_told_entry_by_entry() {
        let asked = Permissions {
            read: list(&["logs/a", "etc"]),
            tools: list(&["echo", "forgekeeper/write_file"]),
            secrets: list(&["KEY"]),
            ..Permissions::default()
        };
        let max =
            Permissions { read: list(&["logs"]), tools: list(&["echo"]), ..Permissions::default() };
        let beyond: Vec<_> = asked.beyond(&max).into_iter().map(|it| (it.list, it.entry)).collect();
        let told = |list: &str, entry: &str| (list.to_owned(), entry.to_owned());
        assert_eq!(
            beyond,
            [told("read", "etc"), told("tools", "forgekeeper/write_file"), told("secrets", "KEY")]
        );
        assert_eq!(asked.beyond(&asked), []);
    }

    #[test]
    fn changes_name_what_came_and_what_went() {
        let old = Permissions { read: list(&["a", "b"]), ..Permissions::default() };
        let new =
            Permissions { read: list(&["b"]), hosts: list(&["x.test"]), ..Permissions::default() };
        let changes = new.changes_since(&old);
        assert_eq!((changes.added[0].list.as_str(), changes.added.len()), ("hosts", 1));
        assert_eq!((changes.removed[0].entry.as_str(), changes.removed.len()), ("a", 1));
        assert_eq!(new.changes_since(&new), PermissionChanges::default());
    }

    #[test]
    fn effect_and_lowest_tier_follow_the_permissions() {
        let none = Permissions::default();
        let reads = Permissions { read: list(&["."]), ..Permissions::default() };
        let calls = Permissions { tools: list(&["echo"]), ..Permissions::default() };
        assert_eq!((none.effect(), none.lowest_tier()), (Effect::Compute, Tier::Safe));
        assert_eq!((reads.effect(), reads.lowest_tier()), (Effect::Read, Tier::Standard));
        assert_eq!((calls.effect(), calls.lowest_tier()), (Effect::Write, Tier::Elevated));
    }

    #[test]
    fn an_unknown_list_is_refused() {
        assert!(serde_json::from_str::<Permissions>(r#"{"read":["a"]}"#).is_ok());
        assert!(serde_json::from_str::<Permissions>(r#"{"reads":["a"]}"#).is_err());
    }
}
