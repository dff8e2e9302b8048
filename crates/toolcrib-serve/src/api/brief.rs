//! Long texts cut for a list: whoever looks at one thing gets all of it, a list of many has the beginnings.

use serde_json::Value;

/// How many bytes of a text a list has.
const LONGEST_TEXT: usize = 256;

/// How many bytes of a text are looked through for secrets before it is cut. A secret that a list could show the
/// beginning of ends before this.
const LONGEST_SEARCHED: usize = 16 * 1024;

/// Cuts every text of a value far behind what a list shows of it, so that the search for secrets is short.
pub(super) fn cut_for_search(value: &mut Value) {
    cut(value, LONGEST_SEARCHED);
}

/// Cuts every text of a value to what a list shows of it.
pub(super) fn cut_for_list(value: &mut Value) {
    cut(value, LONGEST_TEXT);
}

fn cut(value: &mut Value, longest: usize) {
    match value {
        Value::String(text) if text.len() > longest => {
            text.truncate(text.floor_char_boundary(longest));
            text.push('…');
        }
        Value::Array(all) => all.iter_mut().for_each(|it| cut(it, longest)),
        Value::Object(all) => all.values_mut().for_each(|it| cut(it, longest)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{LONGEST_TEXT, cut_for_list};

    #[test]
    fn a_long_text_is_cut_between_characters_and_a_short_one_stays() {
        let long = "ä".repeat(LONGEST_TEXT);
        let mut value = json!({"args": [{"command": long, "path": "notes.txt"}], "count": 3});
        cut_for_list(&mut value);
        let expected = format!("{}…", "ä".repeat(LONGEST_TEXT / 2));
        assert_eq!(
            value,
            json!({"args": [{"command": expected, "path": "notes.txt"}], "count": 3})
        );
    }
}
