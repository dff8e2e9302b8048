//! Finds the passages of a text that are most similar to a text without an exact match.

use toolcrib_core::nearest::distance;

/// The least similarity of a passage that is worth showing.
const LEAST_SIMILARITY: f64 = 0.6;

/// The most comparisons of two characters that one search may make.
const MOST_COMPARISONS: usize = 50_000_000;

/// A passage of a text.
#[derive(Debug, PartialEq)]
pub(crate) struct Passage {
    /// The number of the passage's first line.
    pub(crate) line: usize,
    pub(crate) text: String,
    /// The similarity, from 0 for nothing in common to 1 for identical.
    pub(crate) similarity: f64,
}

/// Returns up to three passages of `text` with as many lines as `wanted`, the most similar first.
pub(crate) fn passages(text: &str, wanted: &str) -> Vec<Passage> {
    let wanted_lines: Vec<&str> = wanted.lines().collect();
    let lines: Vec<&str> = text.lines().collect();
    let height = wanted_lines.len().max(1);
    if lines.len() < height {
        return Vec::new();
    }
    let wanted: String = wanted_lines.join("\n");
    let wanted = wanted.trim();
    let length = wanted.chars().count();
    let lengths: Vec<usize> = lines.iter().map(|line| line.chars().count() + 1).collect();
    let mut span: usize = lengths.iter().take(height).sum();
    let mut work = 0;
    let mut found: Vec<Passage> = Vec::new();
    for (index, window) in lines.windows(height).enumerate() {
        let whole = span - 1;
        span += lengths.get(index + height).copied().unwrap_or_default();
        span -= lengths[index];
        work += 1;
        // The length alone can rule out a passage, before its lines are joined.
        if (whole as f64) < LEAST_SIMILARITY * length as f64 {
            continue;
        }
        work += whole;
        if work > MOST_COMPARISONS {
            break;
        }
        let passage = window.join("\n");
        let compared = passage.trim();
        let other = compared.chars().count();
        let longest = length.max(other);
        if longest == 0 || (length.min(other) as f64) < LEAST_SIMILARITY * longest as f64 {
            continue;
        }
        work += length * other;
        if work > MOST_COMPARISONS {
            break;
        }
        let similarity = 1.0 - distance(wanted, compared) as f64 / longest as f64;
        if similarity >= LEAST_SIMILARITY {
            found.push(Passage { line: index + 1, text: passage, similarity });
        }
    }
    found.sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then(a.line.cmp(&b.line)));
    found.truncate(3);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_passages_come_with_their_lines() {
        let text = "fn main() {\n    let total = 1;\n}\nfn other() {}\n";
        let found = passages(text, "let totals = 1;");
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].line, found[0].text.as_str()), (2, "    let total = 1;"));
        let found = passages(text, "let total = 2;\n}");
        assert_eq!(found[0].line, 2);
    }

    #[test]
    fn a_passage_longer_than_the_text_has_no_like() {
        assert!(passages("a\n", "a\nb\nc").is_empty());
        assert!(passages("", "").is_empty());
    }
}
