//! The names of temporary files: `.toolcrib-` and random digits. Content that is being put in place, or taken away, has
//! such a name for a moment.

use std::ffi::{OsStr, OsString};

use toolcrib_core::canonical::hex;

/// How every temporary name begins and ends.
pub(crate) const PREFIX: &str = ".toolcrib-";
pub(crate) const SUFFIX: char = '~';

/// Returns a new random name.
pub(crate) fn random_name() -> OsString {
    let mut bytes = [0_u8; 12];
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    let mut name = String::from(PREFIX);
    let _ = hex(&bytes, &mut name);
    name.push(SUFFIX);
    OsString::from(name)
}

/// Whether a name is that of a temporary file.
pub(crate) fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(PREFIX.as_bytes()) && name.last() == Some(&(SUFFIX as u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_names_are_temporary_and_differ() {
        let (one, other) = (random_name(), random_name());
        assert!(is_temporary(&one) && is_temporary(&other));
        assert_ne!(one, other);
    }

    #[test]
    fn other_names_are_not_temporary() {
        for name in ["", "~", ".toolcrib", ".toolcrib-0123", "a.toolcrib-0123~"] {
            assert!(!is_temporary(OsStr::new(name)), "{name}");
        }
    }
}
