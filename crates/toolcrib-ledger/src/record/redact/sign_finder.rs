//! Finds out quickly which forms of secrets a text can contain, so that few patterns are searched for.

use std::sync::LazyLock;

use super::secret_forms::FORMS;

/// Finds the signs of all forms in one pass over a text. Most places of a text are dismissed by their first three bytes.
pub(super) struct SignFinder {
    /// Which beginnings of signs there are: one bit for each [`SignFinder::key`].
    beginnings: Vec<u64>,
    /// The signs of three bytes and more by their first byte, each with the index of its form.
    by_first: Vec<Vec<(usize, &'static [u8])>>,
    /// The signs of one byte.
    bytes: Vec<(usize, u8)>,
}

pub(super) static SIGN_FINDER: LazyLock<SignFinder> = LazyLock::new(SignFinder::new);

impl SignFinder {
    /// How many bits of a key are used.
    const KEY_BITS: u32 = 15;

    fn new() -> Self {
        let mut finder = Self {
            beginnings: vec![0; 1 << (Self::KEY_BITS - 6)],
            by_first: vec![Vec::new(); 256],
            bytes: Vec::new(),
        };
        for (form, it) in FORMS.iter().enumerate() {
            for sign in it.signs.iter().map(|sign| sign.as_bytes()) {
                if let [only] = sign {
                    finder.bytes.push((form, *only));
                    continue;
                }
                finder.by_first[usize::from(sign[0])].push((form, sign));
                let key = sign[..3].iter().fold(0, |key, byte| Self::key(key, *byte));
                finder.beginnings[key >> 6] |= 1 << (key & 63);
            }
        }
        finder
    }

    /// Returns the key of the three bytes that end in `byte`, given the key of the three before.
    fn key(before: usize, byte: u8) -> usize {
        // Each byte is shifted by five bits, so that the fourth from the end is gone.
        ((before << 5) ^ usize::from(byte.to_ascii_lowercase())) & ((1 << Self::KEY_BITS) - 1)
    }

    /// Returns, for each form, whether a text can contain a secret of it.
    pub(super) fn forms_in(&self, text: &[u8]) -> [bool; FORMS.len()] {
        let mut seen = [false; FORMS.len()];
        for (form, byte) in &self.bytes {
            seen[*form] |= text.contains(byte);
        }
        let mut key = 0;
        for (end, byte) in text.iter().enumerate() {
            key = Self::key(key, *byte);
            if self.beginnings[key >> 6] & (1 << (key & 63)) == 0 || end < 2 {
                continue;
            }
            let start = end - 2;
            for (form, sign) in &self.by_first[usize::from(text[start].to_ascii_lowercase())] {
                let part = text.get(start..start + sign.len());
                seen[*form] |= part.is_some_and(|part| part.eq_ignore_ascii_case(sign));
            }
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_have_one_byte_or_three_and_more() {
        for sign in FORMS.iter().flat_map(|form| form.signs) {
            assert!(sign.len() != 2 && !sign.is_empty(), "{sign}");
        }
    }

    #[test]
    fn every_sign_is_found_at_every_place_in_any_case() {
        for (form, sign) in FORMS
            .iter()
            .enumerate()
            .flat_map(|(form, it)| it.signs.iter().map(move |sign| (form, *sign)))
        {
            for around in ["", "x", "s", "--", "ä", "pa"] {
                for sign in [sign.to_owned(), sign.to_ascii_uppercase()] {
                    let text = format!("{around}{sign}{around}");
                    assert!(SIGN_FINDER.forms_in(text.as_bytes())[form], "{text}");
                }
            }
            let (cut, _) = sign.split_at(sign.len() - 1);
            let is_there = FORMS[form].signs.iter().any(|other| cut.contains(other));
            assert_eq!(SIGN_FINDER.forms_in(cut.as_bytes())[form], is_there, "{cut}");
        }
        assert_eq!(SIGN_FINDER.forms_in(b""), [false; FORMS.len()]);
    }
}
