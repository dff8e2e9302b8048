//! What developers run works in the sandbox as it comes.

use crate::ground::{for_all, inside, outside};
use crate::scratch::{Scratch, User};

#[test]
fn git_python_and_node() {
    for_all(|scratch| {
        let made = outside(
            scratch,
            "git init -q . && git config user.name a && git config user.email a@b",
        );
        assert_eq!(made.code, 0, "{}", made.stderr);
        let got = inside(
            scratch,
            "echo one > a && git add -A && git commit -qm one && git log --oneline | wc -l && git status --short && \
             git diff HEAD && git stash list && git checkout -qb side && git merge -q master 2>&1 | tail -1",
        );
        assert!(got.stdout.starts_with("1\n"), "{}{}", got.stdout, got.stderr);
        scratch.put(
            "test_it.py",
            "import json, os, subprocess, tempfile, threading, multiprocessing, socket, unittest\n\
             class It(unittest.TestCase):\n    def test_it(self):\n        with tempfile.NamedTemporaryFile() as f: f.write(b'x')\n        \
             self.assertEqual(subprocess.check_output(['echo', 'hi']), b'hi\\n')\n        \
             s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); c = socket.create_connection(s.getsockname())\n        \
             c.close(); s.close()\n        \
             with multiprocessing.Pool(2) as p: self.assertEqual(p.map(abs, [-1, -2]), [1, 2])\n",
        );
        for runner in ["python3 -m unittest -q test_it", "pytest-3 -q test_it.py"] {
            let got = inside(scratch, runner);
            assert_eq!(got.code, 0, "{runner}: {}{}", got.stdout, got.stderr);
        }
        scratch.put(
            "it.js",
            "const { execSync } = require('child_process'); const http = require('http'); const assert = require('assert');\n\
             assert.equal(execSync('echo hi').toString(), 'hi\\n');\n\
             const s = http.createServer((q, r) => r.end('ok')).listen(0, '127.0.0.1', () =>\n\
               http.get({ port: s.address().port }, r => r.on('data', d => { console.log('' + d); process.exit(0) })));\n",
        );
        let got = inside(scratch, "node it.js");
        assert_eq!(got.stdout, "ok\n", "{}", got.stderr);
        scratch.put(
            "package.json",
            r#"{"name": "x", "version": "1.0.0", "scripts": {"test": "node it.js"}}"#,
        );
        let got = inside(scratch, "npm test --silent");
        assert_eq!(got.stdout, "ok\n", "{}", got.stderr);
    });
}

#[test]
fn cargo_builds_and_tests_a_crate() {
    let scratch = Scratch::of(User::Own);
    scratch.put(
        "Cargo.toml",
        "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    scratch.put("src/lib.rs", "#[test]\nfn it() { assert_eq!(1 + 1, 2); }\n");
    // The operator's own home: their toolchains, and nothing else of it.
    let home = std::env::var_os("HOME").unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let mut command = scratch.command();
    command.env("HOME", home).env("PATH", path);
    // Where these are set, the toolchain is not in the home.
    for name in ["CARGO_HOME", "RUSTUP_HOME"] {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    let got: crate::scratch::Ran = command
        .args([
            "sandbox",
            "run",
            "--",
            "sh",
            "-c",
            "cargo test -q 2>&1 && ls -A ~ && ls -A ${CARGO_HOME:-~/.cargo}",
        ])
        .output()
        .unwrap()
        .into();
    assert_eq!(got.code, 0, "{}{}", got.stdout, got.stderr);
    assert!(got.stdout.contains("1 passed"), "{}", got.stdout);
    assert!(!got.stdout.contains("credentials"), "{}", got.stdout);
    assert!(scratch.work().join("target").is_dir());
}

#[test]
fn a_toolchain_elsewhere_is_found_by_its_variable() {
    for_all(|scratch| {
        scratch.put_at("outside/cargo/bin/tool", "#!/bin/sh\necho tool\n");
        scratch.put_at("outside/cargo/registry/index", "index\n");
        scratch.put_at("outside/cargo/credentials.toml", "secret\n");
        let tool = scratch.path("outside/cargo/bin/tool");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&tool, mode).unwrap();
        let cargo = scratch.path("outside/cargo").display().to_string();
        let run = |variable: &str, script: &str| -> crate::scratch::Ran {
            let mut command = scratch.command();
            command.env(variable, &cargo).env("PATH", format!("{cargo}/bin:/usr/bin:/bin"));
            command.args(["sandbox", "run", "--", "sh", "-c", script]).output().unwrap().into()
        };
        let script = "tool; cat $CARGO_HOME/registry/index; ls -A $CARGO_HOME; echo x > $CARGO_HOME/bin/tool || echo kept";
        let got = run("CARGO_HOME", script);
        assert_eq!(got.stdout, "tool\nindex\nbin\nregistry\nkept\n", "{}", got.stderr);
        let got = run("OTHER_HOME", &format!("tool || echo none; ls {cargo} || echo none"));
        assert_eq!(got.stdout, "none\nnone\n", "the control: {}", got.stderr);
    });
}

#[test]
fn caches_are_kept_and_toolchains_are_not_changed() {
    for_all(|scratch| {
        scratch.put_at("home/.local/bin/tool", "#!/bin/sh\necho tool\n");
        scratch.put_at("home/.cache/real", "the operator's own");
        let settings = ["sandbox.caches=.cache/mine", "sandbox.toolchains=.local/bin"];
        let run = |script: &str| crate::ground::inside_with(scratch, &settings, script);
        let got = run(
            "cat ~/.local/bin/tool | tail -1; echo x > ~/.local/bin/tool || echo kept; echo 1 > ~/.cache/mine/a; ls ~/.cache",
        );
        assert_eq!(got.stdout, "echo tool\nkept\nmine\n", "{}", got.stderr);
        assert_eq!(run("cat ~/.cache/mine/a").stdout, "1\n");
        assert!(!scratch.path("home/.cache/mine").exists(), "it is kept apart from the real one");
        let got = crate::ground::inside_with(scratch, &["sandbox.toolchains=../outside"], "true");
        assert_eq!(got.code, 2, "{}", got.stderr);
    });
}
