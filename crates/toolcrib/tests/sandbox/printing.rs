//! Scripts of `sed` and programs of `awk` that are said to only print write no file and run nothing.

use std::collections::BTreeSet;

use toolcrib_core::program::caveat;

use crate::ground::inside;
use crate::reading::{Chance, seed};
use crate::scratch::{Scratch, User};

/// How many scripts are made, and how many of those that only print are run.
const MADE: usize = 200_000;
const RUN: usize = 800;

/// What scripts of `sed` are made of. They write to `out` and run `p3`, if they do.
const SED: &[&str] = &[
    "p",
    "1p",
    "s/a/b/",
    "s|a|b|g",
    "/a/p",
    "1,$d",
    ";",
    "s,a,b,",
    "q",
    "=",
    "$!p",
    "\n",
    "/",
    "\\",
    "[",
    "]",
    "[/]",
    "\\/",
    "w out",
    "e",
    "e p3",
    "1e p3",
    "w",
    " ",
    "g",
    "I",
    "3",
    "!",
    ",",
    "+1",
    "{",
    "}",
    "n",
    "N",
    "s/a/p3/e",
    "s/x/y/w out",
    "|",
    "r in",
    "W out",
    "a\\",
    "#",
    "s",
    "y/a/b/",
    "&",
    "\\n",
    "x",
    "0",
    "^",
    "$",
];

/// What programs of `awk` are made of.
const AWK: &[&str] = &[
    "{",
    "}",
    "print",
    " ",
    "$1",
    "\"x\"",
    ";",
    "n",
    "1",
    "/a/",
    "NR",
    "==",
    "(",
    ")",
    ",",
    "/",
    "\"",
    ">",
    "\"out\"",
    "> \"out\"",
    "|",
    "| \"p3\"",
    "\"p3\"",
    "system(\"p3\")",
    "getline",
    "++",
    "if(1)",
    "\n",
    "!",
    "~",
    "[",
    "]",
    "[/]",
    "&&",
    "||",
    "BEGIN",
    "END",
    "length",
    " in ",
    "n[1]",
    "else",
    "\\",
    "for(k in n)",
    "printf",
    "\\\"",
    "\\/",
    "+",
    "-",
    "*",
    "NF",
    "close(\"x\")",
    "=",
    "print \"x\" > \"out\"",
    "print|\"p3\"",
    "\"p3\"|getline",
];

/// Runs each command, and prints which files were made and which programs were run.
const DRIVER: &str = r"
import json, os, shutil, subprocess
shims = '/tmp/shims'; os.mkdir(shims)
open(shims + '/p3', 'w').write('#!/bin/sh\necho p3 >> /tmp/log\n')
os.chmod(shims + '/p3', 0o755)
for words in json.load(open('commands.json')):
    shutil.rmtree('/tmp/in', ignore_errors=True); os.mkdir('/tmp/in')
    open('/tmp/in/in', 'w').write('a b\\np3\\nx/a\\n')
    open('/tmp/log', 'w').close()
    try:
        subprocess.run(words, env={'PATH': shims + ':/usr/bin:/bin'}, cwd='/tmp/in', timeout=2,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        pass
    print(json.dumps([sorted(os.listdir('/tmp/in')), open('/tmp/log').read()]))
";

fn script(chance: &mut Chance, pieces: &[&str]) -> String {
    (0..=chance.below(9)).map(|_| pieces[chance.below(pieces.len())]).collect()
}

/// Makes commands of a program, and runs those without a caveat, the oddest first.
fn compare(name: &str, flags: &[&str], pieces: &[&str], control: &[&str]) {
    let mut chance = Chance(seed());
    let mut plain = BTreeSet::new();
    for _ in 0..MADE {
        let mut words = vec![name.to_owned()];
        let flag = flags[chance.below(flags.len())];
        words.extend((!flag.is_empty()).then(|| flag.to_owned()));
        words.extend([script(&mut chance, pieces), "in".to_owned()]);
        if caveat(&words).is_none() {
            plain.insert(words);
        }
    }
    let mut plain: Vec<Vec<String>> = plain.into_iter().collect();
    assert!(plain.len() > RUN, "only {} of `{name}` only print", plain.len());
    plain.sort_by_key(|words| std::cmp::Reverse(words.join(" ").len()));
    plain.truncate(RUN);
    // The control does what the others must not do.
    let control: Vec<String> = control.iter().map(|word| (*word).to_owned()).collect();
    assert!(caveat(&control).is_some(), "{control:?}");
    plain.push(control);
    let scratch = Scratch::of(User::Own);
    scratch.put("commands.json", serde_json::to_string(&plain).unwrap());
    scratch.put("driver.py", DRIVER);
    let got = inside(&scratch, "python3 driver.py");
    let lines: Vec<&str> = got.stdout.lines().collect();
    assert_eq!(lines.len(), plain.len(), "{}", got.stderr);
    for (words, line) in plain.iter().zip(&lines).take(RUN) {
        assert_eq!(*line, "[[\"in\"], \"\"]", "{words:?}");
    }
    assert_eq!(lines[RUN], "[[\"in\", \"out\"], \"p3\\n\"]");
}

#[test]
fn scripts_of_sed_that_only_print_do_no_more() {
    let flags = ["", "-n", "-E", "-nE", "-ne", "-e", "-s"];
    compare("sed", &flags, SED, &["sed", "1e p3\nw out", "in"]);
}

#[test]
fn programs_of_awk_that_only_print_do_no_more() {
    let control = "{print > \"out\"; system(\"p3\"); exit}";
    compare("awk", &["", "-F:", "-F/"], AWK, &["awk", control, "in"]);
}
