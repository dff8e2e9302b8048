//! Trigrams: three bytes in a row, each taken for one of 128 classes. Letters of the ASCII alphabet
//! are the same in either case; bytes beyond ASCII share the classes that this leaves unused. Two
//! texts may look alike by it that are not, never the other way round.

/// Three classes, seven bits each.
pub(crate) type Trigram = u32;

/// How many bits a class has.
pub(crate) const CLASS_BITS: u32 = 7;
/// How many trigrams there are.
pub(crate) const TRIGRAM_COUNT: usize = 1 << (3 * CLASS_BITS);
/// What of a rolling value is the trigram.
pub(crate) const TRIGRAM_MASK: u32 = TRIGRAM_COUNT as u32 - 1;

/// The class of each byte.
pub(crate) static BYTE_CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    // Classes that no ASCII text needs: control characters, and the upper case.
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

/// The class of a byte.
pub(crate) fn class(byte: u8) -> u8 {
    BYTE_CLASSES[byte as usize]
}

/// Returns the trigram of three classes.
pub(crate) fn of_classes(classes: &[u8]) -> Trigram {
    classes.iter().fold(0, |gram, class| gram << CLASS_BITS | u32::from(*class))
}

/// Returns the trigram of three bytes.
#[cfg(test)]
pub(crate) fn gram(bytes: &[u8]) -> Trigram {
    bytes.iter().fold(0, |gram, byte| gram << CLASS_BITS | u32::from(class(*byte)))
}

/// Whether a line end is among the three: no line has one in it, so that nothing is ever asked about
/// those.
pub(crate) fn has_line_end(gram: Trigram) -> bool {
    let low = (1 << CLASS_BITS) - 1;
    [gram & low, gram >> CLASS_BITS & low, gram >> (2 * CLASS_BITS)].contains(&u32::from(b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_fold_and_line_ends_stand_alone() {
        assert_eq!(gram(b"HeL"), gram(b"hEl"));
        assert_ne!(gram(b"hel"), gram(b"he1"));
        assert!(has_line_end(gram(b"a\nb")) && !has_line_end(gram(b"a\rb")));
        for byte in (0..=255).filter(|byte| *byte != b'\n') {
            assert_ne!(class(byte), b'\n', "{byte}");
            assert!(class(byte) < 128);
        }
    }
}
