//! The W3C trace context of a request: which trace it belongs to, and which span in it is ours.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// The header with the trace and the span.
pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The header with what vendors of tracing systems add.
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// How long a `tracestate` may be.
const LONGEST_STATE: usize = 512;

/// How many members a `tracestate` may have.
const MOST_STATE_MEMBERS: usize = 32;

/// The bit of the flags by which a caller says that it records the trace.
const SAMPLED: u8 = 1;

/// The id of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceId([u8; 16]);

/// The id of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpanId([u8; 8]);

/// A place in a trace: the trace, and a span in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TraceContext {
    pub(crate) trace: TraceId,
    pub(crate) span: SpanId,
    flags: u8,
    /// What vendors of tracing systems add.
    pub(crate) state: Option<Arc<str>>,
}

impl TraceId {
    pub(crate) fn generate() -> Self {
        Self(random())
    }

    /// Reads 32 hexadecimal digits in lower case that are not all zero.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        digits(text).map(Self)
    }
}

impl SpanId {
    pub(crate) fn generate() -> Self {
        Self(random())
    }
}

impl TraceContext {
    /// Returns a span of ours in a trace of its own, which is recorded.
    pub(crate) fn generate() -> Self {
        let (trace, span) = (TraceId::generate(), SpanId::generate());
        Self { trace, span, flags: SAMPLED, state: None }
    }

    /// Reads the context from the headers of a request. Anything that is not exactly as the standard says counts as
    /// no context.
    pub(crate) fn read(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(&TRACEPARENT).iter();
        let (value, None) = (values.next()?, values.next()) else { return None };
        let mut context = Self::parse(value.to_str().ok()?)?;
        context.state = read_state(headers);
        Some(context)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let version = parts.next().filter(|it| it.len() == 2)?;
        let version: [u8; 1] = any_digits(version)?;
        let trace = TraceId::parse(parts.next()?)?;
        let span = digits(parts.next()?).map(SpanId)?;
        let [flags]: [u8; 1] = any_digits(parts.next()?)?;
        // A later version may have more parts after these. 255 is no version.
        match version {
            [0] if parts.next().is_some() => None,
            [255] => None,
            _ => Some(Self { trace, span, flags, state: None }),
        }
    }

    /// Returns a new span in the same trace.
    pub(crate) fn child(&self) -> Self {
        // Of the flags, only the one that we know is passed on.
        Self { span: SpanId::generate(), flags: self.flags & SAMPLED, ..self.clone() }
    }

    /// Whether the caller records the trace.
    pub(crate) fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// Puts what vendors add into the headers of a request, in place of what a caller sent.
    pub(super) fn write_state(&self, headers: &mut HeaderMap) {
        headers.remove(&TRACESTATE);
        if let Some(state) = self.state.as_deref().and_then(|it| HeaderValue::from_str(it).ok()) {
            headers.insert(TRACESTATE, state);
        }
    }

    /// Returns the value of `traceparent`.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        let mut text = String::with_capacity(55);
        text.push_str("00-");
        push_digits(&mut text, &self.trace.0);
        text.push('-');
        push_digits(&mut text, &self.span.0);
        text.push('-');
        push_digits(&mut text, &[self.flags]);
        HeaderValue::try_from(text).ok()
    }
}

/// Reads `tracestate`. A malformed one is left out, and the trace goes on without it.
fn read_state(headers: &HeaderMap) -> Option<Arc<str>> {
    let values: Result<Vec<&str>, _> =
        headers.get_all(&TRACESTATE).iter().map(HeaderValue::to_str).collect();
    let members: Vec<String> =
        values.ok()?.join(",").split(',').map(|it| it.trim().to_owned()).collect();
    let members: Vec<String> = members.into_iter().filter(|it| !it.is_empty()).collect();
    let state = members.join(",");
    let is_member = |member: &String| {
        let key_end = member.find('=').unwrap_or_default();
        key_end > 0 && member.bytes().all(|byte| (b' '..=b'~').contains(&byte))
    };
    let is_good = !state.is_empty()
        && state.len() <= LONGEST_STATE
        && members.len() <= MOST_STATE_MEMBERS
        && members.iter().all(is_member);
    is_good.then(|| state.into())
}

/// Reads hexadecimal digits in lower case that are not all zero.
fn digits<const N: usize>(text: &str) -> Option<[u8; N]> {
    any_digits(text).filter(|bytes: &[u8; N]| bytes.iter().any(|byte| *byte != 0))
}

fn any_digits<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N {
        return None;
    }
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

/// Returns bytes that no other id has. They need not be secret, so the kernel is asked for a seed only once.
fn random<const N: usize>() -> [u8; N] {
    static NEXT_SEED: LazyLock<AtomicU64> = LazyLock::new(|| {
        let mut seed = [0; 8];
        // For so few bytes, the kernel never returns fewer or fails.
        let _ = rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty());
        AtomicU64::new(u64::from_ne_bytes(seed))
    });
    let mut bytes = [0; N];
    for part in bytes.chunks_mut(8) {
        // The generator SplitMix64: it has each number once before any comes again.
        let mut mixed = NEXT_SEED.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        part.copy_from_slice(&(mixed ^ mixed >> 31).to_be_bytes()[..part.len()]);
    }
    // All zero is no id.
    bytes[0] |= u8::from(bytes == [0; N]);
    bytes
}

fn push_digits(text: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)].into());
        text.push(DIGITS[usize::from(byte & 15)].into());
    }
}

fn write_digits(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut text = String::with_capacity(2 * bytes.len());
    push_digits(&mut text, bytes);
    f.write_str(&text)
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_digits(&self.0, f)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_digits(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    fn read(lines: &[(HeaderName, &str)]) -> Option<TraceContext> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        TraceContext::read(&headers)
    }

    #[test]
    fn only_a_traceparent_as_the_standard_has_it_counts() {
        let good = format!("00-{TRACE}-{SPAN}-01");
        for (text, expected) in [
            (good.as_str(), Some(1)),
            (&format!("00-{TRACE}-{SPAN}-00"), Some(0)),
            (&format!("00-{TRACE}-{SPAN}-ff"), Some(255)),
            (&format!("cc-{TRACE}-{SPAN}-01-what-comes-later"), Some(1)),
            (&format!("00-{TRACE}-{SPAN}-01-more"), None),
            (&format!("00-{TRACE}-{SPAN}-01-"), None),
            (&format!("ff-{TRACE}-{SPAN}-01"), None),
            (&format!("0-{TRACE}-{SPAN}-01"), None),
            (&format!("00-{}-{SPAN}-01", TRACE.to_uppercase()), None),
            (&format!("00-{}-{SPAN}-01", "0".repeat(32)), None),
            (&format!("00-{TRACE}-{}-01", "0".repeat(16)), None),
            (&format!("00-{TRACE}0-{SPAN}-01"), None),
            (&format!("00-{TRACE}-{SPAN}-1"), None),
            (&format!("00-{TRACE}-{SPAN}-+1"), None),
            (&format!("00-{TRACE}-{SPAN}"), None),
            (&format!(" {good}"), None),
            ("", None),
        ] {
            let context = read(&[(TRACEPARENT, text)]);
            assert_eq!(context.as_ref().map(|it| it.flags), expected, "{text:?}");
            if let Some(context) = context {
                assert_eq!(
                    (&*context.trace.to_string(), &*context.span.to_string()),
                    (TRACE, SPAN)
                );
            }
        }
        assert_eq!(read(&[(TRACEPARENT, &good), (TRACEPARENT, &good)]), None, "given twice");
    }

    #[test]
    fn a_child_stays_in_the_trace_and_keeps_its_state() {
        let good = format!("00-{TRACE}-{SPAN}-03");
        let states = [(TRACEPARENT, &*good), (TRACESTATE, "a=1, b=2"), (TRACESTATE, "c=3")];
        let context = read(&states).unwrap();
        assert_eq!(context.state.as_deref(), Some("a=1,b=2,c=3"));
        let child = context.child();
        assert_eq!((child.trace, &child.state), (context.trace, &context.state));
        assert_ne!(child.span, context.span);
        let header = child.header().unwrap();
        assert_eq!(header, format!("00-{TRACE}-{}-01", child.span));
        for bad in ["nothing", "=1", &format!("a={}", "x".repeat(600)), &"a=1,".repeat(40)] {
            let context = read(&[(TRACEPARENT, &good), (TRACESTATE, bad)]).unwrap();
            assert_eq!(context.state, None, "{bad}");
        }
        let (one, other) = (TraceContext::generate(), TraceContext::generate());
        assert!(one.is_sampled() && one.trace != other.trace && one.span != other.span);
    }
}
