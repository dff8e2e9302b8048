//! Random samples and questions, the same on every run.

use std::time::Duration;

use toolcrib_core::search::{Grep, Page, Pattern, Scope, Want};

use crate::sample::Sample;

/// A generator of pseudo-random numbers.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

const WORDS: &[&str] = &[
    "alpha", "beta", "gamma", "delta_x", "Zeta", "fn", "é", "日本", "x1", "(", "0x", "a", "kelvin",
    "TODO", "end", "foo.bar", "", "\t",
];

/// Makes a sample of files in nested directories, with some ignore rules, binary files and odd names.
pub(crate) fn random_sample(random: &mut Random) -> Sample {
    let mut sample = Sample::default();
    let directories = ["", "a/", "a/b/", "c/", ".h/", "a.b/", "a/b/c/d/", "target/"];
    for number in 0..120 {
        let directory = random.pick(&directories);
        let ending = random.pick(&["rs", "txt", "md", "log", "日"]);
        let dot = random.pick(&["", "", "", "", "", "."]);
        let path = format!("{directory}{dot}f{number}.{ending}");
        let mut content = Vec::new();
        for _ in 0..random.below(60) {
            for _ in 0..random.below(7) {
                content.extend_from_slice(random.pick(WORDS).as_bytes());
                content.extend_from_slice(random.pick(&[" ", "", "  ", "-"]).as_bytes());
            }
            content.extend_from_slice(random.pick(&["\n", "\n", "\n", "\r\n"]).as_bytes());
        }
        match random.below(25) {
            0 => content.push(0),
            1 => content.insert(0, 0),
            2 => content.extend_from_slice(b"\xff\xfe alpha"),
            3 => content = content.repeat(200),
            4 => content.extend_from_slice(b"alpha without an end"),
            _ => {}
        }
        sample = sample.file(path, content);
    }
    for directory in ["", "a/", "c/"] {
        let rules = ["*.log\n", "target\n", "!f1*.log\n", "/a/b\n", "f[0-4]*.md\n", "b/\n"];
        let count = random.below(4);
        let rules: String = (0..count).map(|_| random.pick(&rules)).collect();
        if !rules.is_empty() {
            let name = random.pick(&[".gitignore", ".ignore", ".rgignore"]);
            sample = sample.file(format!("{directory}{name}"), rules);
        }
    }
    sample
}

/// Makes a question about such a sample.
pub(crate) fn random_question(random: &mut Random) -> Grep {
    let is_literal = random.below(2) == 0;
    let mut text = random.pick(&WORDS[..16]).to_owned();
    if random.below(3) == 0 {
        text.push_str(random.pick(&[" ", "a", "end", "-"]));
    }
    if !is_literal {
        text = text.replace('(', r"\(") + random.pick(&["", "", r"\s*$", ".*end", r"\w+", "|beta"]);
    }
    let scope = Scope {
        directory: [None, None, None, Some("a"), Some("a/b"), Some("c"), Some(".h")]
            [random.below(7)]
        .map(str::to_owned),
        glob: [None, None, None, Some("*.rs"), Some("**/*.txt"), Some("*f1*"), Some("b/**")]
            [random.below(7)]
        .map(str::to_owned),
        kind: [None, None, None, None, Some("rust"), Some("md")][random.below(6)]
            .map(str::to_owned),
        depth: [None, None, None, Some(1), Some(2)][random.below(5)],
        denied: None,
    };
    let want = match random.below(4) {
        0 => Want::Files,
        1 => Want::Counts,
        2 => Want::Lines { before: random.below(3), after: random.below(3) },
        _ => Want::Lines { before: 0, after: 0 },
    };
    let page = match random.below(3) {
        0 => Page { skip: random.below(20), most: 1 + random.below(30), ..Page::ALL },
        _ => Page::ALL,
    };
    Grep {
        pattern: Pattern { text, is_literal, ignores_case: random.below(2) == 0 },
        scope,
        want,
        page,
        count_limit: [u64::MAX, u64::MAX, 0, 10][random.below(4)],
        counts_files: random.below(2) == 0,
        time: Duration::from_mins(10),
    }
}
