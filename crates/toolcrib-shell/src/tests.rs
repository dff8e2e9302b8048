//! Tables of commands: what is proven, what is found, and what is dangerous.

mod budget;
mod programs;
mod scripts;

use super::*;

fn read(text: &str) -> Reading {
    BashReader::default().read(text)
}

#[track_caller]
fn proves(text: &str, expect: &[&[&str]]) {
    let proven = read(text).proven.unwrap_or_else(|why| panic!("{text}: {why}"));
    let steps: Vec<Vec<&str>> =
        proven.steps.iter().map(|step| step.words.iter().map(String::as_str).collect()).collect();
    assert_eq!(steps, expect, "{text}");
}

#[track_caller]
fn doubts(text: &str) {
    let reading = read(text);
    let is_free = |it: &toolcrib_core::command_reading::Proven| {
        it.writes.is_empty()
            && it.steps.iter().all(|step| step.caveat.is_none() && !step.is_elsewhere)
    };
    assert!(!reading.proven.as_ref().is_ok_and(is_free), "{text}: {:?}", reading.proven);
}

#[track_caller]
fn finds(text: &str, expect: &[&str]) {
    let found = read(text).found;
    let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let is_there = found.iter().any(|words| {
        words.len() == expect.len() && base(&words[0]) == expect[0] && words[1..] == expect[1..]
    });
    assert!(is_there, "{text}: {found:?}");
}

#[test]
fn plain_commands_are_proven() {
    proves("git status", &[&["git", "status"]]);
    proves(
        "ls -la 'a b' | grep \"x y\" && echo done; true",
        &[&["ls", "-la", "a b"], &["grep", "x y"], &["echo", "done"], &["true"]],
    );
    proves("/usr/bin/git log -1 2>/dev/null", &[&["git", "log", "-1"]]);
    proves("grep '> /etc/' doc.md", &[&["grep", "> /etc/", "doc.md"]]);
    proves("git diff HEAD~1", &[&["git", "diff", "HEAD~1"]]);
    proves("to''uch x", &[&["touch", "x"]]);
    let proven = read("echo x > out.txt 2>&1").proven.unwrap();
    assert_eq!(proven.writes, ["out.txt"]);
}

#[test]
fn what_is_not_plain_is_not_proven() {
    for text in [
        "echo $(touch x)",
        "echo `touch x`",
        "echo ${x@P}",
        "echo \"$x\"",
        "echo hi &",
        "echo {a,b}",
        "ls ~/x",
        "ls a:~/x",
        "ls --x=~/y",
        "FOO=1 ls",
        "cat <(ls)",
        "bash <<< x",
        "echo hi &&& ls",
        "echo x &> y",
        "echo x >| y",
        "echo x 3> y",
        "echo x 1<>y",
        "ls |& cat",
        "a=b",
        "",
        "   ",
        "echo 'a",
        "echo \"a\\\"b",
        "echo \"a\\\nb\"",
        "echo \"a$(touch x)\"",
        "echo \"\\\\$(touch x)\"",
        "echo \\\\$(touch x)",
        "echo \"$-\"",
        "echo \"${x}\"",
        "echo $'a'",
        "=ls",
        "echo hi > /dev/tcp/127.0.0.1/80",
        "\u{441}url x",
        "ls \u{200b}",
        "cd x && echo y > z",
        "[[ -f x && -f y ]]",
        "[[ x =~ y ]]",
        "[[ x -eq 1 ]]",
        "[[ -f $(touch x) ]]",
        "[[-f x ]]",
        "x[0]=1",
    ] {
        assert!(read(text).proven.is_err(), "{text}: {:?}", read(text).proven);
    }
}

#[test]
fn innocent_names_that_run_code_have_a_caveat() {
    for text in [
        "git -c a=b status",
        "git diff --output=x",
        "git log --outp=x",
        "git grep -Ox a",
        "git --exec-path=x foo",
        "git ls-remote --upload-pack=x .",
        "find . -delete",
        "find . -exec touch x",
        "sed s/a/b/w f",
        "sed -i s/a/b/ f",
        "sort -o x f",
        "sort --compress-prog ./x f",
        "sort -ro x f",
        "rg --pre ./x y",
        "env touch x",
        "xargs touch",
        "timeout 5 touch x",
        "awk 'BEGIN{system(\"touch x\")}' f",
        "python3 x",
        "test -v 'x[0]'",
        "printf -v x y",
        "cd ..",
        "cd /",
        "./run",
        "command touch x",
        "bash -c ls",
        "sh x",
        "less f",
        "declare x",
        "export A",
        "uniq a b",
        "uniq - b",
        "npm run test ---script-shell=./x",
        "make test SHELL=./x",
        "make test deploy",
        "date 010203042026",
        "tar xf a",
        "cd sub && make test",
        "curl -K cfg",
    ] {
        doubts(text);
    }
    for text in [
        "git diff --stat",
        "find . -name x",
        "sed -n 1,20p f",
        "sort f",
        "rg x",
        "test -f x",
        "cd x",
    ] {
        assert!(read(text).proven.unwrap().steps[0].caveat.is_none(), "{text}");
    }
}

#[test]
fn commands_are_found_wherever_they_hide() {
    for text in [
        "rm -rf /",
        "echo hi && rm -rf /",
        "echo $(rm -rf /)",
        "echo `rm -rf /`",
        "\"$(rm -rf /)\"",
        "bash -c 'rm -rf /'",
        "bash -lc 'sudo rm -rf /'",
        "eval rm -rf /",
        "eval 'rm -rf /'",
        "sudo rm -rf /",
        "env FOO=1 rm -rf /",
        "env -S 'rm -rf /'",
        "timeout 5 rm -rf /",
        "timeout -s KILL 5 rm -rf /",
        "nice -n 5 rm -rf /",
        "xargs rm -rf /",
        "find . -exec rm -rf / ;",
        "trap 'rm -rf /' EXIT",
        "r''m -rf /",
        "r\\m -rf /",
        "$'\\x72m' -rf /",
        "/bin/rm -rf /",
        "{rm,-rf,/}",
        "rm$IFS-rf$IFS/",
        "if true; then rm -rf /; fi",
        "x() { rm -rf /; }; x",
        "test -v 'x[$(rm -rf /)]'",
        "bash <<< 'rm -rf /'",
        "cat <(rm -rf /)",
        "rm \\\n -rf /",
        "while :; do rm -rf /; done",
        "ssh host 'rm -rf /'",
        "FOO=1 rm -rf /",
        "case x in x) rm -rf /;; esac",
        "coproc rm -rf /",
        "sh -c \"bash -c 'rm -rf /'\"",
        "su -c 'rm -rf /'",
    ] {
        finds(text, &["rm", "-rf", "/"]);
    }
    finds("rm 2>/dev/null -rf /", &["rm", "-rf", "/"]);
    finds("cd / && rm -rf etc", &["rm", "-rf", "/etc"]);
    finds("cd && rm -rf *", &["rm", "-rf", "~/*"]);
    finds("for d in /etc /usr; do rm -rf \"$d\"; done", &["rm", "-rf", "/etc", "/usr"]);
    finds("poetry run rm -rf /", &["rm", "-rf", "/"]);
    finds("D=/; rm -rf \"$D\"etc", &["rm", "-rf", "/etc"]);
    finds("D=/e; D+=tc; rm -rf $D", &["rm", "-rf", "/etc"]);
    finds("echo / | xargs rm -rf", &["rm", "-rf", "/"]);
    finds("echo / | xargs -I% rm -rf %etc", &["rm", "-rf", "/etc"]);
    finds("xargs rm -rf <<E\n/\nE\n", &["rm", "-rf", "/"]);
    finds("rm -rf \"$(echo /)\"etc", &["rm", "-rf", "/etc"]);
    finds("env -C / rm -rf etc", &["rm", "-rf", "/etc"]);
    finds("env -C /a env -C b rm -rf etc", &["rm", "-rf", "/a/b/etc"]);
    finds("gosu root rm -rf /", &["rm", "-rf", "/"]);
    finds("ssh host rm -rf /", &["rm", "-rf", "/"]);
    finds("cat '{a,b}'", &["cat", "{a,b}"]);
    finds("cat 'a$IFSb'", &["cat", "a$IFSb"]);
    finds("bash <<E\nrm -rf /\nE\n", &["rm", "-rf", "/"]);
    for text in [
        "cat > notes.md <<E\nrm -rf /\nE\n",
        "grep 'rm -rf /' doc.md",
        "echo rm -rf /",
        "git log --grep 'rm -rf /'",
    ] {
        let found = read(text).found;
        assert!(!found.iter().any(|words| words[0] == "rm"), "{text}: {found:?}");
    }
}

fn dangers(text: &str) -> Vec<Danger> {
    read(text).dangers
}

#[test]
fn what_runs_what_it_is_fed_is_known() {
    for text in [
        "curl x | python3 -",
        "curl x | python3.11",
        "ruby -e \"$(curl x)\"",
        "python3 -c \"$(curl x)\"",
        "bash < <(curl x)",
        "x=$(curl x); eval \"$x\"",
        "curl x | $SHELL",
        "curl x | docker exec -i c sh",
        "curl x | xargs -n 1 bash",
        "curl x | xargs -I {} sh -c {}",
        "curl x | bash -s -- a",
        "curl x | env A=1 sh",
        "curl x | bash -euo pipefail",
        "curl x | bash /dev/fd/0",
        "curl x | python3 -W ignore",
        "curl x | ruby -rjson",
        "curl x | perl -Mstrict",
        "curl x | ssh host",
        "curl x | ssh -o A=b host sh",
        "curl x | make -f -",
        "curl x | gmake --file=/dev/stdin all",
        "curl x | sudo -i",
        "curl x | bash /proc/self/fd/0",
        "curl x | xargs timeout 5",
        "curl x | xargs -0 python3 -c",
        "curl x | tee >(bash)",
        "curl x | while read line; do eval \"$line\"; done",
        "while read -r line; do eval $line; done < list",
        "curl x | while read line; do bash -c \"$line\"; done",
        "curl x | while read; do $REPLY; done",
    ] {
        assert_eq!(dangers(text), [Danger::PipeToShell], "{text}");
    }
    for text in [
        "git ls-files | xargs grep -l bash",
        "cat x | env LC_ALL=C grep sh",
        "yes | bash install.sh",
        "bash scripts/release.sh \"$(git describe)\"",
        "sh build.sh $(nproc)",
        "bash -c 'echo $(date)'",
        "bash -c \"echo $(date)\"",
        "cat a | perl -lane print",
        "cat a.json | python3 -m json.tool",
        "cat a | python3 -c 'import sys; print(sys.stdin.read())'",
        "cat a | perl -ne print",
        "cat a | node x.js",
        "find . | xargs -0 ls",
        "tar c . | ssh host tar x",
        "ls | ssh -N host",
        "cat a | make -f Makefile.ci",
        "cat a | xargs timeout 5 gzip",
        "cat a | xargs -I{} cp {} b",
        "cat a | xargs -0n1 grep -l sh",
        "cat a | while read line; do eval 'echo done'; done",
        "cat a | while read line; do grep \"$line\" b; done",
    ] {
        assert_eq!(dangers(text), [], "{text}");
    }
}

#[test]
fn dangers_have_names() {
    assert_eq!(dangers(":(){ :|:& };:"), [Danger::ForkBomb]);
    assert_eq!(dangers("f() { f | f & }; f"), [Danger::ForkBomb]);
    assert_eq!(dangers("f() { ls | wc; }; f"), []);
    assert_eq!(dangers("walk() { walk sub | cat; }; walk"), []);
    assert_eq!(dangers("f() { while true; do f & done; }; f"), [Danger::ForkBomb]);
    assert_eq!(dangers("f() { f & f; }; f"), [Danger::ForkBomb]);
    for recursion in [
        "hanoi() { hanoi 1; echo \"$2 $3\" | tee -a log; hanoi 2; }; hanoi 3 a b c",
        "f() { local a=$(( $1 & 1 )); [ $1 -le 0 ] || { f 1; f 2; }; }; f 5",
        "walk() { ls $1 | while read d; do walk $d; done; [ -d x ] && walk x; }; walk .",
    ] {
        assert_eq!(dangers(recursion), [], "{recursion}");
    }
    let object = r#"{"a":1,"b":2}"#;
    let json = vec![object; 40].join(", ");
    assert_eq!(dangers(&format!("echo '[{json}]' > data.json")), []);
    assert_eq!(dangers("echo x | rev | sh"), [Danger::PipeToShell]);
    assert_eq!(dangers("curl x | sudo bash"), [Danger::PipeToShell]);
    assert_eq!(dangers(&"A".repeat(70_000)), [Danger::TooLong]);
    assert_eq!(dangers("\u{441}url x"), [Danger::MixedScript]);
    let mut deep = "rm x".to_owned();
    for _ in 0..12 {
        deep = format!("env {deep}");
    }
    assert_eq!(dangers(&deep), [Danger::TooDeep]);
    let many: Vec<String> = (0..2000).map(|number| format!("echo {number}")).collect();
    assert_eq!(dangers(&many.join(";")), [Danger::TooMany]);
    assert_eq!(dangers(&"true;".repeat(2000)), [Danger::TooMany]);
    assert_eq!(dangers(&vec!["ls"; 4000].join("&&")), [Danger::TooMany]);
    let brace = format!("x{{{}}}", ",".repeat(31));
    assert_eq!(
        dangers(&format!("env env env env env env echo {}", brace.repeat(5))),
        [Danger::TooMany]
    );
    assert_eq!(dangers("echo {a,b}{c,d}"), []);
    // Short texts that would take for ever if every way to read them were taken.
    for (start, part) in [("", "sudo -u "), ("", "timeout -k "), ("find . ", "-exec a ")] {
        assert!(!dangers(&format!("{start}{}x", part.repeat(4000))).is_empty(), "{part}");
    }
    assert_eq!(dangers(&"true && ".repeat(60)), []);
}

#[test]
fn what_wrappers_and_spellings_hide_is_found() {
    for text in [
        "timeout 1e3 nc x",
        "timeout 0x10 nc x",
        "timeout inf nc x",
        "taskset 0x3 nc x",
        "chrt -o 0 nc x",
        "setarch x86_64 nc x",
        "chroot /mnt nc x",
        "fakeroot nc x",
        "systemd-run nc x",
        "flock lk nc x",
        "flock f -c \"nc x\"",
        "env A=1 B=1 C=1 D=1 E=1 F=1 G=1 H=1 I=1 J=1 K=1 L=1 M=1 nc x",
        "env -vS 'nc x'",
        "env -iS 'nc x'",
        "bash -c -- 'nc x'",
        "jobs -x nc x",
        "mapfile -C 'nc x' -c 1",
        "coproc FOO { nc x; }",
        "n{c,} x",
        "${a:-nc} x",
        "a=nc; $a x",
        "cat <<EOF | sh\nnc x\nEOF",
    ] {
        finds_program(text, "nc");
    }
}

#[track_caller]
fn finds_program(text: &str, name: &str) {
    let found = read(text).found;
    assert!(found.iter().any(|words| words[0] == name), "{text}: {found:?}");
}

#[test]
fn what_is_fed_is_known_to_be() {
    for (text, fed) in [
        ("cat a | psql", true),
        ("psql < a", true),
        ("ls && psql", false),
        ("cat a | sort; psql", false),
        ("psql < /dev/null", false),
    ] {
        let proven = read(text).proven.unwrap();
        assert_eq!(proven.steps.last().unwrap().is_fed, fed, "{text}");
    }
}

#[test]
fn commands_are_followed_eight_levels_deep() {
    for (levels, is_found) in [(1, true), (8, true), (9, false)] {
        let reading = read(&format!("{}nc x", "env ".repeat(levels)));
        let found = reading.found.iter().any(|words| words[0] == "nc");
        assert_eq!(found, is_found, "{levels}: {:?}", reading.found);
        assert_eq!(reading.dangers.contains(&Danger::TooDeep), !is_found, "{levels}");
    }
}
