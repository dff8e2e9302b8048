//! What is read of a command is what it does: wherever the strict reading says that it knows, real bash
//! runs those programs with those words, writes those files, and nothing else.

use std::collections::BTreeSet;

use serde_json::Value;
use toolcrib_core::command_reading::ReadShell;
use toolcrib_shell::BashReader;

use crate::ground::inside;
use crate::scratch::{Scratch, User};

/// How many texts are made, and how many of those that are proven are run.
const MADE: u64 = 60_000;
const RUN: usize = 1500;

/// What texts are made of. Programs are `p1` to `p4`.
const PIECES: &[&str] = &[
    "p1",
    "p2",
    "p3",
    "p4",
    "x",
    "y.txt",
    "-n",
    "--flag=v",
    "12",
    "'a b'",
    "\"c d\"",
    "''",
    "\"\"",
    "'$x'",
    "\"$x\"",
    "'`p3`'",
    "a\\ b",
    "$x",
    "${x}",
    "$(p3)",
    "`p3`",
    "*.t",
    "{a,b}",
    "~",
    "~/z",
    "a~b",
    "=p1",
    "x=1",
    "2>&1",
    ">out",
    "> out2",
    ">>out",
    "<in",
    "2>err",
    "&>both",
    ">|out",
    "<<<x",
    "<(p3)",
    "|",
    "||",
    "&&",
    ";",
    "&",
    "|&",
    "\n",
    "#",
    "(",
    ")",
    "{",
    "}",
    "!",
    "[",
    "]",
    "\\",
    "\"",
    "'",
    "\t",
    "\r",
    "\u{a0}",
    "p1'p2'",
    "p\"1\"",
    "$'p1'",
    "$\"p1\"",
    "if",
    "then",
    "fi",
    "[[",
    "]]",
    "-- ",
    ",",
    ":",
    "%",
    "@",
    "p1;p2",
    "p1&&p2",
    "p1|p2",
    "p1&p2",
    "2>&1|p2",
    "1>&2",
    "3>x",
    "p1\\\np2",
    "^",
    "a^b",
    "?",
    "HEAD~1",
    "\u{441}",
    "0<in",
    "0>out",
    "0>&1",
    "1<in",
    "0",
    "\"a!b\"",
    "\"!\"",
    "'!p3'",
    "'x\ny'",
    "\"x\ny\"",
    "\"c\u{e9}\"",
    "'\u{441}'",
    "\\;",
    "\\(",
    "\\)",
    "\\!",
    "\\$x",
    "\\$(p3)",
    "\\\\",
    "\\\\$(p3)",
    "\\p1",
    "\\~",
    "=\\~",
    "\\*",
    "\\'a\\'",
    "\\\"",
    "\"a\\\"b\"",
    "\"a\\\\\"",
    "\"\\$x\"",
    "\"\\$(p3)\"",
    "\"\\\\$(p3)\"",
    "\"\\`p3\\`\"",
    "\"a\\|b\"",
    "\"a$\"",
    "\"$ b\"",
    "\"a$/\"",
    "\"a\\\nb\"",
    "--x=*.t",
    "{}",
    "-I{}",
    "a{}b",
    "{}{a,b}",
    "x@{1}",
    "{a}",
    "{a}{b",
    "{1..2}",
    "HEAD^",
    "^x",
    "LC_ALL=C",
    "GIT_PAGER=cat",
    "LC_ALL=x",
    "LC_ALL=C p1",
    "PAGER=cat p1",
    "&>/dev/null",
    "&>>/dev/null",
    "[[ -f x ]]",
    "[[ x == \"a b\" ]]",
    "[[ -n $(p3) ]]",
    "[[ x -eq 1 ]]",
];

/// Runs each text with programs that only note how they were called, and prints what was noted and made.
const DRIVER: &str = r#"
import json, os, shutil, subprocess, sys
shims = '/tmp/shims'; os.mkdir(shims)
for name in ['p1', 'p2', 'p3', 'p4']:
    path = shims + '/' + name
    open(path, 'w').write('#!/bin/dash\nprintf \'%s\\036\' "$(printf \'%s\\037\' "${0##*/}" "$@")" >> /tmp/log\n')
    os.chmod(path, 0o755)
for text in json.load(open('texts.json')):
    shutil.rmtree('/tmp/in', ignore_errors=True); os.mkdir('/tmp/in'); open('/tmp/in/in', 'w').close()
    open('/tmp/log', 'w').close()
    subprocess.run(['/bin/bash', '--noprofile', '--norc', '-c', text], env={'PATH': shims, 'HOME': '/tmp/in'}, cwd='/tmp/in',
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=10)
    ran = [call.split('\037')[:-1] for call in open('/tmp/log').read().split('\036')[:-1]]
    print(json.dumps({'ran': ran, 'made': sorted(os.listdir('/tmp/in'))}))
"#;

/// Numbers that look like chance, and are the same each time.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }
}

fn text(chance: &mut Chance) -> String {
    let mut text = String::from(PIECES[chance.below(4)]);
    for _ in 0..chance.below(9) {
        if chance.below(4) > 0 {
            text.push(' ');
        }
        // Plain words often enough that something is proven.
        let most = if chance.below(3) > 0 { 13 } else { PIECES.len() };
        text.push_str(PIECES[chance.below(most)]);
    }
    text
}

/// What stands between statements, and in the place of a blank.
const BETWEEN: &[&str] = &[
    ";",
    " ; ",
    "\n",
    "\n\n",
    " && ",
    "&&\n",
    " || ",
    " # it's `p3`\n",
    ";# $(p3)\n",
    "\t;\t",
    " |\n",
    " \\\n;",
    "\n#\n",
    " \\\n",
    "\\\n",
];

/// Words with variables, which loops and assignments set.
const VARIABLES: &[&str] = &[
    "$i",
    "\"$i\"",
    "${i}",
    "\"a $i\"",
    "x$i",
    "'$i'",
    "\"${i}\"x",
    "$x",
    "\"$x$i\"",
    "$i$x",
    "\"$ix\"",
    "\"$\"",
    "$",
    "\"\\$i\"",
    "\"\\\\$i\"",
    "\"$i\\n\"",
    "\"$i$\"",
    "\\$i",
    "\\;",
    "a\\ b",
];

/// Makes statements that are nested in others, and stand on several lines.
fn script(chance: &mut Chance, depth: usize) -> String {
    let word = |chance: &mut Chance| match chance.below(3) {
        0 => VARIABLES[chance.below(VARIABLES.len())],
        1 => PIECES[4 + chance.below(9)],
        _ => PIECES[chance.below(13)],
    };
    let between = |chance: &mut Chance| BETWEEN[chance.below(BETWEEN.len())];
    let mut text = String::new();
    for number in 0..=chance.below(3) {
        if number > 0 {
            text.push_str(between(chance));
        }
        let form = if depth > 2 { 0 } else { chance.below(14) };
        let part = match form {
            1 | 2 => {
                let mut words = String::new();
                for _ in 0..chance.below(4) {
                    words = format!("{words} {}", word(chance));
                }
                let body = script(chance, depth + 1);
                let blank = [" ", "\n", "\t", "\n# c\n"][chance.below(4)];
                format!("for i in{words}{}do{blank}{body}{}done", between(chance), between(chance))
            }
            3 | 4 => {
                let parts = [0, 0, 0].map(|_| script(chance, depth + 1));
                let [first, second, third] = parts;
                format!(
                    "if {first}{}then {second}{}else\n{third}{}fi",
                    between(chance),
                    between(chance),
                    between(chance)
                )
            }
            5 => format!("x={}", word(chance)),
            6 => format!("{{ {}; }}", script(chance, depth + 1)),
            7 => format!("({})", script(chance, depth + 1)),
            8 => format!("! {}", script(chance, depth + 1)),
            9 => {
                let operator = ["=", "!=", "-a", "==", "-eq"][chance.below(5)];
                let (one, other) = (word(chance), word(chance));
                match chance.below(4) {
                    0 => format!("[[ {one} {operator} {other} ]]"),
                    1 => format!("[[ -f {one} ]]"),
                    2 => format!("[ ! -f {one} ]"),
                    _ => format!("[ {one} {operator} {other} ]"),
                }
            }
            10 => {
                let end = ["E", "'E'", "\"E\"", " E"][chance.below(4)];
                let body =
                    ["", "x\n", "$(p3)\n", "`p3`\n", "E p3\n", " E\n", "\\\nE\n"][chance.below(7)];
                format!("p1 <<{end}{}\n{body}E\n", ["", " # c", " | p2", "; p2"][chance.below(4)])
            }
            11 => "set -e".to_owned(),
            12 => {
                let setting = ["LC_ALL=C", "PAGER=cat", "NO_COLOR=1", "LC_ALL=$i"][chance.below(4)];
                format!("{setting} p1 {}", word(chance))
            }
            _ => format!("{} {} {}", PIECES[chance.below(4)], word(chance), word(chance)),
        };
        text.push_str(&part);
    }
    text
}

#[test]
fn what_is_proven_is_what_bash_does() {
    compare(MADE, text);
}

#[test]
fn what_is_proven_of_scripts_is_what_bash_does() {
    compare(MADE * 2 / 3, |chance| script(chance, 0));
}

/// Returns where chance begins. With another number in `TOOLCRIB_TEST_SEED`, other texts are made.
pub(crate) fn seed() -> u64 {
    std::env::var("TOOLCRIB_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7)
}

/// Makes texts, and runs those that are proven.
fn compare(made: u64, make: impl Fn(&mut Chance) -> String) {
    let shell = BashReader::default();
    let mut chance = Chance(seed());
    let mut seen = BTreeSet::new();
    let mut proven = Vec::new();
    for _ in 0..made {
        let text = make(&mut chance);
        if let Ok(it) = shell.read(&text).proven
            && seen.insert(text.clone())
        {
            proven.push((text, it));
        }
    }
    assert!(proven.len() > RUN, "only {} are proven", proven.len());
    // The oddest first: those with the most of what is not a plain word.
    let oddness =
        |text: &str| text.chars().filter(|c| !c.is_ascii_alphanumeric() && *c != ' ').count();
    proven.sort_by_key(|(text, _)| std::cmp::Reverse(oddness(text)));
    proven.truncate(RUN);
    let scratch = Scratch::of(User::Own);
    let texts: Vec<&str> = proven.iter().map(|(text, _)| text.as_str()).collect();
    scratch.put("texts.json", serde_json::to_string(&texts).unwrap());
    scratch.put("driver.py", DRIVER);
    let got = inside(&scratch, "python3 driver.py");
    let lines: Vec<Value> =
        got.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), proven.len(), "{}", got.stderr);
    let mut ran = 0;
    for ((text, proven), line) in proven.iter().zip(&lines) {
        for call in line["ran"].as_array().unwrap() {
            let words: Vec<&str> =
                call.as_array().unwrap().iter().filter_map(Value::as_str).collect();
            let is_told = proven.steps.iter().any(|step| step.words == words);
            assert!(is_told, "{text:?} ran {words:?}, and {:?} was told", proven.steps);
            ran += 1;
        }
        for file in line["made"].as_array().unwrap().iter().filter_map(Value::as_str) {
            let is_told = file == "in" || proven.writes.iter().any(|path| path == file);
            assert!(is_told, "{text:?} made {file:?}, and {:?} was told", proven.writes);
        }
    }
    // The control: programs were run at all, most of those that were told.
    let told: usize = proven.iter().map(|(_, proven)| proven.steps.len()).sum();
    assert!(ran * 3 > told, "{ran} of {told} were run");
}
