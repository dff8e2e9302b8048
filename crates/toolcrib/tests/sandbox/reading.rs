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
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
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

#[test]
fn what_is_proven_is_what_bash_does() {
    let shell = BashReader::default();
    let mut chance = Chance(7);
    let mut seen = BTreeSet::new();
    let mut proven = Vec::new();
    for _ in 0..MADE {
        let text = text(&mut chance);
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
