//! The plan of a rebase that has stopped: git goes on with it when somebody says `git rebase --continue`.

/// The plan within a git folder.
pub const REBASE_PLAN: &str = "rebase-merge/git-rebase-todo";

/// Returns the lines of a plan that make git run a program.
pub fn program_lines(plan: &str) -> impl Iterator<Item = &str> {
    plan.lines().filter(|line| {
        let mut words = line.split_whitespace();
        matches!(words.next(), Some("exec" | "x")) && words.next().is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_run_programs_are_found() {
        let plan = "pick 1234 exec\nexec touch x\n x  make\n# exec y\nexec\nlabel x y\n";
        assert_eq!(program_lines(plan).collect::<Vec<_>>(), ["exec touch x", " x  make"]);
    }
}
