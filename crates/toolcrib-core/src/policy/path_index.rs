//! The globs of all rules in a few sets, so that ten thousand rules cost a microsecond.

use globset::{Glob, GlobSet, GlobSetBuilder};

use super::pattern::PathGlob;
use super::rule::Rule;
use super::subject::Subject;

/// An index from paths to the rules whose globs match them.
#[derive(Default)]
pub(super) struct PathIndex {
    /// Sets of globs. Beside each set stands, for each of its globs, the number of the rule that the glob is of.
    sets: Vec<(GlobSet, Vec<usize>)>,
    /// The rules whose globs are too large for a set. They are candidates for every path.
    always: Vec<usize>,
}

/// How many globs go into one set: the library cannot build a set of too many.
pub(super) const GLOBS_PER_SET: usize = 512;

impl PathIndex {
    /// Builds the index of these rules.
    pub(super) fn new(rules: &[Rule]) -> Self {
        let numbered = rules.iter().enumerate();
        let globs: Vec<(usize, &Glob)> = numbered
            .flat_map(|(number, rule)| {
                let globs = rule.when.paths.iter().chain(&rule.when.writes);
                globs.flat_map(PathGlob::globs).map(move |glob| (number, glob))
            })
            .collect();
        let mut index = Self::default();
        for some in globs.chunks(GLOBS_PER_SET) {
            let mut set = GlobSetBuilder::new();
            for (_, glob) in some {
                set.add((*glob).clone());
            }
            let owners = some.iter().map(|(owner, _)| *owner);
            match set.build() {
                Ok(set) => index.sets.push((set, owners.collect())),
                Err(_) => index.always.extend(owners),
            }
        }
        index
    }

    /// Returns the numbers of the rules with a glob that matches a path of this call.
    pub(super) fn rules<'a>(
        &'a self,
        subject: &'a Subject<'_>,
    ) -> impl Iterator<Item = usize> + 'a {
        let paths = subject.reads.iter().chain(subject.writes);
        let redirects = subject.reading.and_then(|it| it.proven.as_ref().ok()).map(|it| &it.writes);
        let paths = paths.chain(redirects.into_iter().flatten());
        let spellings = paths.flat_map(|path| subject.spellings(path));
        let found = spellings.flat_map(move |path| {
            let sets = self.sets.iter();
            sets.flat_map(move |(set, owners)| {
                set.matches(path).into_iter().filter_map(|glob| owners.get(glob).copied())
            })
        });
        found.chain(self.always.iter().copied())
    }
}
