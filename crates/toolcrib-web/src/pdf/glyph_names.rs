//! The names of glyphs, as the encodings of fonts use them.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Letters with marks are named by both, as in `eacute`. The mark that is put behind a letter, and its name.
const MARKS: [(&str, char); 13] = [
    ("acute", '\u{301}'),
    ("grave", '\u{300}'),
    ("circumflex", '\u{302}'),
    ("dieresis", '\u{308}'),
    ("tilde", '\u{303}'),
    ("ring", '\u{30a}'),
    ("cedilla", '\u{327}'),
    ("caron", '\u{30c}'),
    ("ogonek", '\u{328}'),
    ("macron", '\u{304}'),
    ("breve", '\u{306}'),
    ("dotaccent", '\u{307}'),
    ("hungarumlaut", '\u{30b}'),
];

/// Names and what they stand for.
const NAMES: &str = "\
    AE Æ Alpha Α Beta Β Chi Χ Dcroat Đ Delta Δ Epsilon Ε Eta Η Eth Ð Euro € Gamma Γ Iota Ι \
    Kappa Κ Lambda Λ Lslash Ł Mu Μ Nu Ν OE Œ Omega Ω Omicron Ο Oslash Ø Phi Φ Pi Π Psi Ψ Rho Ρ \
    Sigma Σ Tau Τ Theta Θ Thorn Þ Upsilon Υ Xi Ξ Zeta Ζ acute ´ ae æ alpha α ampersand & \
    angbracketleft ⟨ angbracketright ⟩ angle ∠ approxequal ≈ arrowboth ↔ arrowdblleft ⇐ \
    arrowdblright ⇒ arrowdown ↓ arrowleft ← arrowright → arrowup ↑ asciicircum ^ asciitilde ~ \
    asterisk * asteriskmath ∗ at @ backslash \\ bar | beta β braceleft { braceright } \
    bracketleft [ bracketright ] breve ˘ brokenbar ¦ bullet • caron ˇ cedilla ¸ cent ¢ \
    checkmark ✓ chi χ circle ○ circumflex ˆ colon : comma , copyright © currency ¤ dagger † \
    daggerdbl ‡ dcroat đ degree ° delta δ dieresis ¨ divide ÷ dollar $ dotaccent ˙ dotlessi ı \
    dotlessj ȷ dotmath ⋅ eight 8 element ∈ ellipsis … emdash — emptyset ∅ endash – epsilon ε \
    epsilon1 ε equal = equivalence ≡ eta η eth ð exclam ! exclamdown ¡ existential ∃ ff ff \
    ffi ffi ffl ffl fi fi figuredash ‒ five 5 fl fl florin ƒ four 4 fraction ⁄ gamma γ \
    germandbls ß gradient ∇ grave ` greater > greaterequal ≥ guillemotleft « guillemotright » \
    guilsinglleft ‹ guilsinglright › hungarumlaut ˝ hyphen - infinity ∞ integral ∫ \
    intersection ∩ iota ι kappa κ lambda λ langle ⟨ less < lessequal ≤ logicaland ∧ \
    logicalnot ¬ logicalor ∨ lozenge ◊ lslash ł macron ¯ mapsto ↦ middot · minus − minute ′ \
    mu µ multiply × nbhyphen - nine 9 notelement ∉ notequal ≠ nu ν numbersign # oe œ ogonek ˛ \
    omega ω omicron ο one 1 onehalf ½ onequarter ¼ onesuperior ¹ ordfeminine ª ordmasculine º \
    oslash ø paragraph ¶ parenleft ( parenright ) partialdiff ∂ percent % period . \
    periodcentered · perthousand ‰ phi φ phi1 ϕ pi π plus + plusminus ± prime ′ product ∏ \
    propersubset ⊂ proportional ∝ psi ψ question ? questiondown ¿ quotedbl \" quotedblbase „ \
    quotedblleft “ quotedblright ” quoteleft ‘ quoteright ’ quotesinglbase ‚ quotesingle ' \
    radical √ rangle ⟩ reflexsubset ⊆ registered ® rho ρ ring ˚ second ″ section § semicolon ; \
    seven 7 sfthyphen - sigma σ sigma1 ς similar ∼ six 6 slash / square □ sterling £ \
    summation ∑ tau τ theta θ theta1 ϑ thorn þ three 3 threequarters ¾ threesuperior ³ tilde ˜ \
    trademark ™ triangleright ▷ two 2 twosuperior ² underscore _ union ∪ universal ∀ upsilon υ \
    visiblespace ␣ xi ξ yen ¥ zero 0 zeta ζ";

static BY_NAME: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let mut words = NAMES.split(' ');
    let mut names = HashMap::new();
    while let (Some(name), Some(text)) = (words.next(), words.next()) {
        names.insert(name, text);
    }
    names.insert("space", " ");
    names.insert("nbspace", " ");
    names
});

/// Returns the text that the glyph of a name shows.
pub(crate) fn text_of(name: &str) -> Option<String> {
    if let Some(text) = BY_NAME.get(name) {
        return Some((*text).to_owned());
    }
    // `a.alt` is another form of `a`, and `f_i` is both in one.
    if let Some((base, _)) = name.split_once('.').filter(|(base, _)| !base.is_empty()) {
        return text_of(base);
    }
    if name.len() < 40 && name.contains('_') {
        return name.split('_').map(text_of).collect();
    }
    let mut letters = name.chars();
    match (letters.next(), letters.as_str()) {
        (Some(letter), "") if letter.is_ascii_alphabetic() => return Some(letter.to_string()),
        (Some(letter), mark) if letter.is_ascii_alphabetic() => {
            if let Some((_, mark)) = MARKS.iter().find(|(known, _)| *known == mark) {
                return Some(composed(letter, *mark));
            }
        }
        _ => {}
    }
    let digits = name.strip_prefix("uni").or_else(|| name.strip_prefix('u'))?;
    if !(4..=6).contains(&digits.len()) {
        return None;
    }
    let code = u32::from_str_radix(digits, 16).ok()?;
    char::from_u32(code).map(String::from)
}

/// Letters with marks, by letter: the letter, then each mark's number in `MARKS` and the letter with it.
const COMPOSED: &str = "\
    a0 á a1 à a2 â a3 ä a4 ã a5 å a7 ǎ a8 ą a9 ā a10 ă a11 ȧ b11 ḃ c0 ć c2 ĉ c6 ç c7 č c11 ċ \
    d6 ḑ d7 ď d11 ḋ e0 é e1 è e2 ê e3 ë e4 ẽ e6 ȩ e7 ě e8 ę e9 ē e10 ĕ e11 ė f11 ḟ g0 ǵ g2 ĝ \
    g6 ģ g7 ǧ g9 ḡ g10 ğ g11 ġ h2 ĥ h3 ḧ h6 ḩ h7 ȟ h11 ḣ i0 í i1 ì i2 î i3 ï i4 ĩ i7 ǐ i8 į \
    i9 ī i10 ĭ j2 ĵ j7 ǰ k0 ḱ k6 ķ k7 ǩ l0 ĺ l6 ļ l7 ľ m0 ḿ m11 ṁ n0 ń n1 ǹ n4 ñ n6 ņ n7 ň \
    n11 ṅ o0 ó o1 ò o2 ô o3 ö o4 õ o7 ǒ o8 ǫ o9 ō o10 ŏ o11 ȯ o12 ő p0 ṕ p11 ṗ r0 ŕ r6 ŗ r7 ř \
    r11 ṙ s0 ś s2 ŝ s6 ş s7 š s11 ṡ t3 ẗ t6 ţ t7 ť t11 ṫ u0 ú u1 ù u2 û u3 ü u4 ũ u5 ů u7 ǔ \
    u8 ų u9 ū u10 ŭ u12 ű v4 ṽ w0 ẃ w1 ẁ w2 ŵ w3 ẅ w5 ẘ w11 ẇ x3 ẍ x11 ẋ y0 ý y1 ỳ y2 ŷ y3 ÿ \
    y4 ỹ y5 ẙ y9 ȳ y11 ẏ z0 ź z2 ẑ z7 ž z11 ż A0 Á A1 À A2 Â A3 Ä A4 Ã A5 Å A7 Ǎ A8 Ą A9 Ā \
    A10 Ă A11 Ȧ B11 Ḃ C0 Ć C2 Ĉ C6 Ç C7 Č C11 Ċ D6 Ḑ D7 Ď D11 Ḋ E0 É E1 È E2 Ê E3 Ë E4 Ẽ E6 Ȩ \
    E7 Ě E8 Ę E9 Ē E10 Ĕ E11 Ė F11 Ḟ G0 Ǵ G2 Ĝ G6 Ģ G7 Ǧ G9 Ḡ G10 Ğ G11 Ġ H2 Ĥ H3 Ḧ H6 Ḩ H7 Ȟ \
    H11 Ḣ I0 Í I1 Ì I2 Î I3 Ï I4 Ĩ I7 Ǐ I8 Į I9 Ī I10 Ĭ I11 İ J2 Ĵ K0 Ḱ K6 Ķ K7 Ǩ L0 Ĺ L6 Ļ \
    L7 Ľ M0 Ḿ M11 Ṁ N0 Ń N1 Ǹ N4 Ñ N6 Ņ N7 Ň N11 Ṅ O0 Ó O1 Ò O2 Ô O3 Ö O4 Õ O7 Ǒ O8 Ǫ O9 Ō \
    O10 Ŏ O11 Ȯ O12 Ő P0 Ṕ P11 Ṗ R0 Ŕ R6 Ŗ R7 Ř R11 Ṙ S0 Ś S2 Ŝ S6 Ş S7 Š S11 Ṡ T6 Ţ T7 Ť \
    T11 Ṫ U0 Ú U1 Ù U2 Û U3 Ü U4 Ũ U5 Ů U7 Ǔ U8 Ų U9 Ū U10 Ŭ U12 Ű V4 Ṽ W0 Ẃ W1 Ẁ W2 Ŵ W3 Ẅ \
    W11 Ẇ X3 Ẍ X11 Ẋ Y0 Ý Y1 Ỳ Y2 Ŷ Y3 Ÿ Y4 Ỹ Y9 Ȳ Y11 Ẏ Z0 Ź Z2 Ẑ Z7 Ž Z11 Ż";

fn composed(letter: char, mark: char) -> String {
    let number = MARKS.iter().position(|(_, known)| *known == mark).unwrap_or_default();
    let key = format!("{letter}{number}");
    let mut words = COMPOSED.split(' ');
    while let (Some(found), Some(text)) = (words.next(), words.next()) {
        if found == key {
            return text.to_owned();
        }
    }
    format!("{letter}{mark}")
}

/// The letters of the standard encoding above 160; those of ASCII are the same but for two quotes.
const STANDARD: &str =
    "¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ.–†‡·.¶•‚„”»…‰.¿.`´ˆ˜¯˘˙¨.˚¸.˝˛ˇ—................Æ.ª....ŁØŒº.....æ...ı..łøœß";

/// Returns what a byte stands for in the standard encoding.
pub(crate) fn standard_letter(byte: u8) -> Option<char> {
    match byte {
        b'\'' => Some('’'),
        b'`' => Some('‘'),
        b' '..=b'~' => Some(char::from(byte)),
        161..=251 => STANDARD.chars().nth(usize::from(byte) - 161).filter(|letter| *letter != '.'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_letters() {
        for (name, expected) in [
            ("a", Some("a")),
            ("eacute", Some("é")),
            ("Scaron", Some("Š")),
            ("space", Some(" ")),
            ("quoteright", Some("’")),
            ("fi", Some("fi")),
            ("f_f_i", Some("ffi")),
            ("a.sc", Some("a")),
            ("uni20AC", Some("€")),
            ("u1F600", Some("😀")),
            ("alpha", Some("α")),
            ("one", Some("1")),
            ("g123", None),
            (".notdef", None),
            ("", None),
        ] {
            assert_eq!(text_of(name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn standard_encoding_has_its_quotes() {
        for (byte, expected) in [
            (b'a', Some('a')),
            (b'\'', Some('’')),
            (0xae, Some('ﬁ')),
            (0xd0, Some('—')),
            (0xfb, Some('ß')),
            (0xff, None),
        ] {
            assert_eq!(standard_letter(byte), expected, "{byte}");
        }
    }
}
