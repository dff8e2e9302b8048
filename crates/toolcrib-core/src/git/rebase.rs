//! The plan of a rebase that has stopped: git goes on with it when somebody says `git rebase --continue`.

use super::config::parse_config;

/// The plan within a git folder.
pub const REBASE_PLAN: &str = "rebase-merge/git-rebase-todo";

/// The files within a git folder that name the merge strategy of what has stopped. Git runs `git-merge-NAME`.
pub const STRATEGY_FILES: [&str; 2] = ["rebase-merge/strategy", "sequencer/opts"];

/// The strategies that are no programs of their own.
const STRATEGIES: [&str; 7] =
    ["octopus", "ort", "ours", "recursive", "resolve", "subtree", "theirs"];

/// Whether `file`, one of [`STRATEGY_FILES`], names a strategy that could be any program.
pub fn names_strategy(file: &str, content: &[u8]) -> bool {
    let is_odd = |name: &[u8]| !STRATEGIES.iter().any(|known| known.as_bytes() == name);
    if file.ends_with("strategy") {
        let name = content.strip_suffix(b"\n").unwrap_or(content);
        return !name.is_empty() && is_odd(name);
    }
    let Ok(options) = parse_config(content) else { return true };
    let mut strategies = options.iter().filter(|option| option.key == "options.strategy");
    strategies.any(|option| is_odd(option.value.as_deref().unwrap_or_default().as_bytes()))
}

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
    fn a_strategy_that_is_a_program_is_found() {
        let [strategy, options] = STRATEGY_FILES;
        for odd in ["x/evil\n", "evil", "[options]\n\tstrategy = ours\n", "ort\n\n", " ort"] {
            assert!(names_strategy(strategy, odd.as_bytes()), "{odd}");
        }
        for odd in ["[options]\n\tstrategy = x/y\n", "[broken", "[options]\nstrategy\n"] {
            assert!(names_strategy(options, odd.as_bytes()), "{odd}");
        }
        for plain in ["ort\n", "", "ours"] {
            assert!(!names_strategy(strategy, plain.as_bytes()), "{plain}");
        }
        for plain in ["[options]\n\tstrategy = ours\n", "[options]\nedit = true\n", ""] {
            assert!(!names_strategy(options, plain.as_bytes()), "{plain}");
        }
    }

    #[test]
    fn lines_that_run_programs_are_found() {
        let plan = "pick 1234 exec\nexec touch x\n x  make\n# exec y\nexec\nlabel x y\n";
        assert_eq!(program_lines(plan).collect::<Vec<_>>(), ["exec touch x", " x  make"]);
    }
}
