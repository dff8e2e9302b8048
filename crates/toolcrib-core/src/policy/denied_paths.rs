//! The paths that rules deny, whatever a call does there. Searches and listings leave them out, and every file tool
//! asks about the file that it has opened: between the decision and the opening a name can change its meaning.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use globset::{GlobSet, GlobSetBuilder};
use jiff::Timestamp;
use serde_json::json;

use super::denied_place::{DeniedPlace, GlobReach};
use super::path_index::GLOBS_PER_SET;
use super::pattern::PathGlob;
use super::rule::{Layer, Rule, RuleEffect};
use crate::canonical::Digest;
use crate::tool_name::ToolName;

/// What a call does to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathAccess {
    /// It reads, lists or finds the file.
    Read,
    /// It writes, makes or removes the file.
    Write,
}

/// The denied paths of one call, and the directory that relative globs start from.
#[derive(Clone)]
pub struct DeniedPaths {
    globs: Arc<DeniedGlobs>,
    root: PathBuf,
}

impl DeniedPaths {
    /// Returns the name of the rule that denies the file at `path`, an absolute path without links.
    pub fn rule(&self, path: &Path, access: PathAccess) -> Option<&str> {
        let below = path.strip_prefix(&self.root).ok();
        let is_meant =
            |owner: &Owner| access == PathAccess::Write || owner.access == PathAccess::Read;
        // A workspace inside a system folder counts as a workspace.
        let is_foreign = |owner: &Owner| !owner.is_shipped || below.is_none();
        let absolute = self.globs.owner(path, |owner| is_meant(owner) && is_foreign(owner));
        let found = absolute.or_else(|| self.globs.owner(below?, is_meant));
        found.map(|owner| owner.rule.as_str())
    }

    /// Returns the places where paths can be that nobody may read, each once.
    pub fn places(&self) -> Arc<[DeniedPlace]> {
        let mut last = self.globs.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((root, places)) = &*last
            && *root == self.root
        {
            return Arc::clone(places);
        }
        let reaches = self.globs.reaches.iter();
        let mut places: Vec<_> = reaches.flat_map(|reach| reach.places(&self.root)).collect();
        places.sort_unstable();
        places.dedup();
        let places: Arc<[DeniedPlace]> = places.into();
        *last = Some((self.root.clone(), Arc::clone(&places)));
        places
    }

    /// Returns what tells these denied paths from others, also in another process.
    pub fn digest(&self) -> String {
        let parts = json!({"root": self.root.display().to_string(), "globs": self.globs.digest});
        Digest::of("denied paths", &parts).to_string()
    }

    /// Whether two calls have the same denied paths, so that what is known about one holds for the other.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.globs, &other.globs) && self.root == other.root
    }
}

impl fmt::Debug for DeniedPaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeniedPaths").field("root", &self.root).finish_non_exhaustive()
    }
}

/// The globs of several rules, compiled together.
struct DeniedGlobs {
    sets: Vec<(GlobSet, Vec<Owner>)>,
    /// The globs that are too large for a set.
    single: Vec<(PathGlob, Owner)>,
    /// How far the globs reach that deny reading.
    reaches: Vec<GlobReach>,
    /// What tells these globs from others.
    digest: String,
    /// The places of these globs from the root that asked for them last.
    places: Mutex<Option<(PathBuf, Arc<[DeniedPlace]>)>>,
}

/// The rule that a glob is of.
#[derive(Clone)]
struct Owner {
    rule: Arc<String>,
    /// `Write` if the rule denies only writing.
    access: PathAccess,
    is_shipped: bool,
}

impl DeniedGlobs {
    fn new(rules: &[&Rule]) -> Self {
        let mut globs = Vec::new();
        for rule in rules {
            let (id, is_shipped) = (Arc::new(rule.id.clone()), rule.layer == Layer::Shipped);
            let owner = |access| Owner { rule: Arc::clone(&id), access, is_shipped };
            let reads = rule.when.paths.iter().map(|glob| (glob, owner(PathAccess::Read)));
            let writes = rule.when.writes.iter().map(|glob| (glob, owner(PathAccess::Write)));
            globs.extend(reads.chain(writes));
        }
        let read = globs.iter().filter(|(_, owner)| owner.access == PathAccess::Read);
        let read = read.flat_map(|(glob, _)| glob.globs());
        let reaches = read.map(|glob| GlobReach::of(glob.glob())).collect();
        let told = globs.iter().flat_map(|(glob, owner)| {
            let access = owner.access == PathAccess::Read;
            glob.globs().map(move |it| json!([it.glob(), access, owner.is_shipped]))
        });
        let digest = Digest::of("denied globs", &told.collect()).to_string();
        let mut all = Self {
            sets: Vec::new(),
            single: Vec::new(),
            reaches,
            digest,
            places: Mutex::default(),
        };
        for some in globs.chunks(GLOBS_PER_SET) {
            let (mut set, mut owners) = (GlobSetBuilder::new(), Vec::new());
            for (glob, owner) in some {
                for part in glob.globs() {
                    set.add(part.clone());
                    owners.push(owner.clone());
                }
            }
            match set.build() {
                Ok(set) => all.sets.push((set, owners)),
                Err(_) => {
                    all.single
                        .extend(some.iter().map(|(glob, owner)| ((*glob).clone(), owner.clone())));
                }
            }
        }
        all
    }

    /// Returns the first rule with a glob that matches a path, of those that are meant.
    fn owner(&self, path: &Path, is_meant: impl Fn(&Owner) -> bool) -> Option<&Owner> {
        let in_sets = self.sets.iter().find_map(|(set, owners)| {
            // Nearly every path is denied by nothing, and this tells so without a list.
            if !set.is_match(path) {
                return None;
            }
            let found = set.matches(path).into_iter().filter_map(|glob| owners.get(glob));
            found.into_iter().find(|owner| is_meant(owner))
        });
        in_sets.or_else(|| {
            let single = self.single.iter().filter(|(glob, _)| glob.is_match_path(path));
            single.map(|(_, owner)| owner).find(|owner| is_meant(owner))
        })
    }
}

/// The rules that deny paths or ask about them, and their globs, compiled once for each choice of rules that calls met.
#[derive(Default)]
pub(super) struct DenyingRules {
    /// The numbers of the rules among all rules.
    numbers: Vec<usize>,
    /// Whether one of the rules holds only for some time.
    has_end: bool,
    compiled: Mutex<HashMap<Vec<usize>, Arc<DeniedGlobs>>>,
    /// What calls met before, by the tool and by the questions that were answered, so that a thousand rules are not
    /// looked through for each call.
    met: Mutex<HashMap<MetBefore, Option<Arc<DeniedGlobs>>>>,
}

/// The tool of a call, and what is meant.
type MetBefore = (ToolName, Option<Vec<String>>);

/// The most choices that are remembered.
const MOST_MET: usize = 64;

/// The paths that are meant.
#[derive(Clone, Copy)]
pub(super) enum PathsMeant<'a> {
    /// Those that rules deny.
    Denied,
    /// Those that rules deny, and those that rules ask about, unless the rule is among these.
    Masked { answered: &'a [String] },
}

impl PathsMeant<'_> {
    fn has(self, rule: &Rule) -> bool {
        match (self, rule.effect) {
            (_, RuleEffect::Deny) => true,
            (Self::Masked { answered }, RuleEffect::Ask) => {
                !rule.when.paths.is_empty() && !answered.contains(&rule.id)
            }
            _ => false,
        }
    }
}

impl DenyingRules {
    /// Finds the rules that deny paths, or ask about them, whatever a call does there.
    pub(super) fn among(rules: &[Rule]) -> Self {
        let numbered = rules.iter().enumerate();
        let denying = numbered.filter(|(_, rule)| {
            let when = &rule.when;
            matches!(rule.effect, RuleEffect::Deny | RuleEffect::Ask)
                && when.is_about_paths()
                && !when.is_about_commands()
                && when.hosts.is_empty()
                && when.args.is_none()
                && when.call.is_none()
        });
        let denying: Vec<(usize, &Rule)> = denying.collect();
        Self {
            numbers: denying.iter().map(|(number, _)| *number).collect(),
            has_end: denying.iter().any(|(_, rule)| rule.expires.is_some()),
            ..Self::default()
        }
    }

    /// Returns the paths of those `rules` about a tool that are meant and hold now; nothing if there is no such rule.
    pub(super) fn paths(
        &self,
        rules: &[Rule],
        tool: &ToolName,
        now: Timestamp,
        root: impl FnOnce() -> PathBuf,
        meant: PathsMeant<'_>,
    ) -> Option<DeniedPaths> {
        if self.numbers.is_empty() {
            return None;
        }
        let globs = if self.has_end {
            self.globs(rules, tool, now, meant)
        } else {
            let answered = match meant {
                PathsMeant::Denied => None,
                PathsMeant::Masked { answered } => Some(answered.to_vec()),
            };
            let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
            if met.len() >= MOST_MET {
                met.clear();
            }
            let before = met.entry((tool.clone(), answered));
            before.or_insert_with(|| self.globs(rules, tool, now, meant)).clone()
        };
        globs.map(|globs| DeniedPaths { globs, root: root() })
    }

    /// Returns the globs of the rules that are meant and hold now; nothing if there is no such rule.
    fn globs(
        &self,
        rules: &[Rule],
        tool: &ToolName,
        now: Timestamp,
        meant: PathsMeant<'_>,
    ) -> Option<Arc<DeniedGlobs>> {
        let holds = |rule: &Rule| meant.has(rule) && rule.is_about(tool) && rule.holds(now);
        let numbers = self.numbers.iter().copied();
        let numbers: Vec<usize> =
            numbers.filter(|number| rules.get(*number).is_some_and(holds)).collect();
        if numbers.is_empty() {
            return None;
        }
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let globs = compiled.entry(numbers).or_insert_with_key(|numbers| {
            let rules: Vec<&Rule> =
                numbers.iter().filter_map(|number| rules.get(*number)).collect();
            Arc::new(DeniedGlobs::new(&rules))
        });
        Some(Arc::clone(globs))
    }
}
