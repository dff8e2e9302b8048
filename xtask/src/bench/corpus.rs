//! A large tree of made-up code: the same on every machine.

use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// About as many files, and as much text, as a large project has.
const FILES: usize = 66_000;
const FILES_IN_A_FOLDER: usize = 14;

/// Numbers that are the same on every run.
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }

    /// A number that is small far more often than large, as words in a text are.
    fn skewed(&mut self, limit: usize) -> usize {
        let (a, b, c) = (self.below(limit), self.below(limit), self.below(limit));
        a.min(b).min(c) * a.min(b) / limit
    }
}

/// Words of the made-up code, the frequent ones first.
fn words(chance: &mut Chance) -> Vec<String> {
    const ROOTS: [&str; 60] = [
        "the", "get", "set", "node", "list", "item", "value", "index", "path", "name", "type",
        "state", "error", "result", "span", "def", "local", "field", "trait", "mutex", "lock",
        "read", "write", "open", "close", "buffer", "stream", "parse", "token", "expr", "stmt",
        "block", "scope", "table", "entry", "count", "size", "offset", "cursor", "visit", "handle",
        "event", "queue", "task", "poll", "wake", "frame", "packet", "socket", "config", "option",
        "flag", "mask", "bits", "word", "byte", "char", "text", "line", "file",
    ];
    let mut words: Vec<String> = ROOTS.iter().map(|root| (*root).to_owned()).collect();
    while words.len() < 30_000 {
        let parts = 2 + chance.below(3);
        let parts: Vec<&str> = (0..parts).map(|_| ROOTS[chance.below(ROOTS.len())]).collect();
        let mut word = match chance.below(3) {
            0 => parts.concat(),
            1 => parts.iter().map(|part| part[..1].to_uppercase() + &part[1..]).collect(),
            _ => parts.join("_"),
        };
        if chance.below(3) == 0 {
            let _ = write!(word, "{}", chance.below(1000));
        }
        words.push(word);
    }
    words
}

/// Returns the tree that `BENCH_CORPUS` names, or grows one in `scratch`.
pub(super) fn tree(scratch: &Path) -> Result<PathBuf, Box<dyn Error>> {
    if let Some(given) = std::env::var_os("BENCH_CORPUS") {
        return Ok(std::fs::canonicalize(given)?);
    }
    let tree = scratch.join("tree");
    grow(&tree)?;
    Ok(tree)
}

/// Grows the tree.
fn grow(root: &Path) -> Result<(), Box<dyn Error>> {
    let mut chance = Chance(0x1234_5678_9abc_def1);
    let words = words(&mut chance);
    let kinds = ["rs", "rs", "rs", "c", "h", "py", "md", "ts", "toml", "txt"];
    let mut text = String::new();
    let mut folder = root.to_owned();
    for number in 0..FILES {
        if number % FILES_IN_A_FOLDER == 0 {
            let at = number / FILES_IN_A_FOLDER;
            let (a, b, c) = (at % 30, at / 30 % 20, at / 600);
            folder = root.join(format!("{}/{}_{c}/part{a}", words[a + 9], words[b + 60]));
            std::fs::create_dir_all(&folder)?;
        }
        text.clear();
        for line in 0..10 + chance.skewed(600) {
            let mut word = || words[chance.skewed(words.len())].as_str();
            let _ = match line % 7 {
                0 => writeln!(text, "/// {} the {} of a {}.", word(), word(), word()),
                1 => writeln!(
                    text,
                    "pub fn {}(&self, {}: {}) -> {} {{",
                    word(),
                    word(),
                    word(),
                    word()
                ),
                2 => writeln!(text, "    let {} = self.{}.{}({});", word(), word(), word(), word()),
                3 => writeln!(text, "    if {} == {}::{} {{", word(), word(), word()),
                4 => writeln!(text, "        return Err({}(\"{} {}\"));", word(), word(), word()),
                5 => writeln!(text, "    }}"),
                _ => writeln!(text, "}}\n"),
            };
        }
        match number {
            777 | 30_001 | 51_234 | 65_000 => text.push_str("fn quaintly_rare_identifier() {}\n"),
            _ if number % 660 == 5 => text.push_str("fn packet_drop_handler() {}\n"),
            _ => {}
        }
        let name = &words[chance.below(words.len())];
        std::fs::write(folder.join(format!("{name}{number}.{}", kinds[chance.below(10)])), &text)?;
    }
    Ok(())
}
