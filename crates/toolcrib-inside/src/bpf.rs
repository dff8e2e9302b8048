//! Seccomp filters in the kernel's own instruction set (classic BPF). A filter finds a system call by binary
//! search: the kernel runs the filter for every call number when it is installed, and a row of comparisons is slow
//! at that.

use std::collections::BTreeMap;

use libc::sock_filter;

/// Which calls of one number are refused, and with which error.
pub(crate) struct SyscallRule {
    /// The call is refused if any of these checks matches.
    pub(crate) checks: Vec<Check>,
    pub(crate) errno: i32,
}

/// A check of the lower half of an argument, which is all that the kernel uses of the arguments checked here.
#[derive(Clone)]
pub(crate) enum Check {
    /// Matches whatever the arguments are.
    Always,
    /// Matches if the argument has any of these bits.
    AnyBit(u32, u32),
    /// Matches if the argument is one of these.
    OneOf(u32, &'static [u32]),
    /// Matches if the argument is none of these.
    NoneOf(u32, &'static [u32]),
}

/// A filter as the kernel takes it.
pub(crate) struct FilterProgram(pub(crate) Vec<sock_filter>);

const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7fff_0000;
const REFUSE: u32 = 0x0005_0000;
const KILL: u32 = 0x8000_0000;

/// Where a filter finds the number of a call, its architecture and its arguments.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// The bit of the x32 call numbers, a second numbering that would bypass the rules for the first.
const X32: u32 = 0x4000_0000;

impl FilterProgram {
    /// This machine's architecture, as the kernel numbers it.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const ARCH: u32 = 0xc000_003e;
    #[cfg(target_arch = "aarch64")]
    pub(crate) const ARCH: u32 = 0xc000_00b7;

    /// Creates a filter that allows every call that no rule refuses. Calls of another architecture kill the
    /// process.
    pub(crate) fn of(rules: &BTreeMap<u32, SyscallRule>) -> Self {
        let mut lines = vec![
            line(LOAD, 0, 0, ARCHITECTURE),
            line(IF_EQUAL, 1, 0, Self::ARCH),
            line(RETURN, 0, 0, KILL),
            line(LOAD, 0, 0, NUMBER),
            line(IF_ANY_BIT, 0, 1, X32),
            line(RETURN, 0, 0, KILL),
        ];
        let rules: Vec<(u32, &SyscallRule)> =
            rules.iter().map(|(call, rule)| (*call, rule)).collect();
        lines.extend(search(&rules));
        Self(lines)
    }
}

/// Returns the instructions that find and apply the rule of a call. `rules` are in order.
fn search(rules: &[(u32, &SyscallRule)]) -> Vec<sock_filter> {
    match rules {
        [] => vec![line(RETURN, 0, 0, ALLOW)],
        [(call, rule)] => {
            let lines = apply(rule);
            let mut all = vec![line(IF_EQUAL, 1, 0, *call), line(RETURN, 0, 0, ALLOW)];
            all.extend(lines);
            all
        }
        _ => {
            let (lower, upper) = rules.split_at(rules.len() / 2);
            let below = search(lower);
            let skip = u32::try_from(below.len()).unwrap_or(u32::MAX);
            let mut all = vec![line(IF_AT_LEAST, 0, 1, upper[0].0), line(JUMP, 0, 0, skip)];
            all.extend(below);
            all.extend(search(upper));
            all
        }
    }
}

fn apply(rule: &SyscallRule) -> Vec<sock_filter> {
    let refuse = line(RETURN, 0, 0, REFUSE | rule.errno.cast_unsigned());
    let mut lines = Vec::new();
    for check in &rule.checks {
        match check {
            Check::Always => lines.push(refuse),
            Check::AnyBit(argument, bits) => {
                lines.extend([load(*argument), line(IF_ANY_BIT, 0, 1, *bits), refuse]);
            }
            Check::OneOf(argument, values) => {
                lines.push(load(*argument));
                lines
                    .extend(values.iter().flat_map(|value| [line(IF_EQUAL, 0, 1, *value), refuse]));
            }
            Check::NoneOf(argument, values) => {
                lines.push(load(*argument));
                // An equal value jumps past the values after it and past the refusal.
                for (number, value) in values.iter().enumerate() {
                    let past = u8::try_from(values.len() - number).unwrap_or(u8::MAX);
                    lines.push(line(IF_EQUAL, past, 0, *value));
                }
                lines.push(refuse);
            }
        }
    }
    lines.push(line(RETURN, 0, 0, ALLOW));
    lines
}

fn load(argument: u32) -> sock_filter {
    line(LOAD, 0, 0, ARGUMENTS + 8 * argument)
}

fn line(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

#[cfg(test)]
impl FilterProgram {
    /// Returns what the kernel would answer.
    pub(crate) fn run(&self, arch: u32, call: u32, arguments: [u32; 6]) -> u32 {
        let (mut at, mut value) = (0, 0);
        loop {
            let line = self.0[at];
            at += 1;
            let holds = match line.code {
                LOAD => {
                    value = match line.k {
                        NUMBER => call,
                        ARCHITECTURE => arch,
                        other => arguments[(other - ARGUMENTS) as usize / 8],
                    };
                    continue;
                }
                JUMP => {
                    at += line.k as usize;
                    continue;
                }
                IF_EQUAL => value == line.k,
                IF_AT_LEAST => value >= line.k,
                IF_ANY_BIT => value & line.k != 0,
                _ => return line.k,
            };
            at += usize::from(if holds { line.jt } else { line.jf });
        }
    }
}
