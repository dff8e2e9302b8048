//! Trigrams: three bytes in a row, each mapped to one of 128 classes. ASCII letters have the same class in upper
//! and lower case; bytes beyond ASCII share the classes that this leaves unused. Two different texts can have the
//! same trigrams, but equal texts never have different ones.

/// A trigram: three classes, seven bits each.
pub(crate) type Trigram = u32;

/// How many bits a class takes.
pub(crate) const CLASS_BITS: u32 = 7;
/// How many different trigrams there are.
pub(crate) const TRIGRAM_COUNT: usize = 1 << (3 * CLASS_BITS);
/// The bits of a rolling value that are the trigram.
pub(crate) const TRIGRAM_MASK: u32 = TRIGRAM_COUNT as u32 - 1;

/// The class of each byte.
pub(crate) static BYTE_CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    // ASCII text needs no classes for control characters and upper-case letters, so other bytes use them.
    let mut spare = [0_u8; 55];
    let mut count = 0;
    let mut class = 0_u8;
    while class < 128 {
        let is_control = class < 32 && class != b'\t' && class != b'\n' && class != b'\r';
        if is_control || class.is_ascii_uppercase() {
            spare[count] = class;
            count += 1;
        }
        class += 1;
    }
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] =
            if byte < 128 { (byte as u8).to_ascii_lowercase() } else { spare[byte % count] };
        byte += 1;
    }
    table
}

/// Returns the class of a byte.
pub(crate) fn class(byte: u8) -> u8 {
    BYTE_CLASSES[byte as usize]
}

/// Returns the trigram of three classes.
pub(crate) fn of_classes(classes: &[u8]) -> Trigram {
    classes.iter().fold(0, |trigram, class| trigram << CLASS_BITS | u32::from(*class))
}

/// Returns the trigram of three bytes.
#[cfg(test)]
pub(crate) fn trigram(bytes: &[u8]) -> Trigram {
    bytes.iter().fold(0, |trigram, byte| trigram << CLASS_BITS | u32::from(class(*byte)))
}

/// Whether one of the three bytes is a line break. No line has one in it, so no question asks for such a trigram.
pub(crate) fn has_line_end(trigram: Trigram) -> bool {
    let low = (1 << CLASS_BITS) - 1;
    [trigram & low, trigram >> CLASS_BITS & low, trigram >> (2 * CLASS_BITS)]
        .contains(&u32::from(b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_fold_and_line_ends_stand_alone() {
        assert_eq!(trigram(b"HeL"), trigram(b"hEl"));
        assert_ne!(trigram(b"hel"), trigram(b"he1"));
        assert!(has_line_end(trigram(b"a\nb")) && !has_line_end(trigram(b"a\rb")));
        for byte in (0..=255).filter(|byte| *byte != b'\n') {
            assert_ne!(class(byte), b'\n', "{byte}");
            assert!(class(byte) < 128);
        }
    }
}
