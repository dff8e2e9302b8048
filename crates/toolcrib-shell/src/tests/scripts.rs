//! Statements on several lines and within others, variables and wildcards.

use super::*;

#[test]
fn statements_on_several_lines_and_within_others_are_proven() {
    proves("ls -la\n\npwd\n", &[&["ls", "-la"], &["pwd"]]);
    proves("# first\nls # then\n# last", &[&["ls"]]);
    proves("ls \\\n\t-la", &[&["ls", "-la"]]);
    proves("ls |\n  wc -l &&\n pwd", &[&["ls"], &["wc", "-l"], &["pwd"]]);
    proves("set -euo pipefail\nls", &[&["ls"]]);
    proves("(ls); { pwd; }; ! id", &[&["ls"], &["pwd"], &["id"]]);
    proves(
        "if [ -f a ]\nthen cat a\nelif test b = c; then id; else pwd; fi",
        &[&["[", "-f", "a", "]"], &["cat", "a"], &["test", "b", "=", "c"], &["id"], &["pwd"]],
    );
    proves("for f in a 'b c'; do cat \"$f\"; done", &[&["cat", "a"], &["cat", "b c"]]);
    proves("x=a; for x in b \"$x\"; do touch $x; done", &[&["touch", "b"], &["touch", "a"]]);
    proves("for f in a b\ndo touch ${f}.x\ndone", &[&["touch", "a.x"], &["touch", "b.x"]]);
    proves("cat <<'E'\n$(x)\nE\npwd", &[&["cat"], &["pwd"]]);
    proves("cat << E\nx\nE", &[&["cat"]]);
    proves("dir=src; ls $dir \"$dir/a b\"", &[&["ls", "src", "src/a b"]]);
    for text in [
        "if true; then ls & fi",
        // To the parser, these are groups and tests.
        "{/bin/ls;}2>/dev/null",
        "{/bin/ls\n}",
        "{ ls;}2>/dev/null",
        "![ -f x ]",
        "if true; then{ ls; }; fi",
        "[ -f x ]2>/dev/null",
        "{(ls);}",
        "if true; then PATH=x; fi; ls",
        "PATH=x; ls",
        "x=1 && ls $x",
        "true || x=1; ls $x",
        "for f in 'a b'; do cat $f; done",
        "for PATH in a; do ls; done",
        "for f in a; do f=$f/b; done",
        "for f; do cat $f; done",
        "for f in a; do ls; done; cat $f",
        "select f in a; do ls; done",
        "while true; do ls; done",
        "ls # it goes on \\\ntouch x",
        "ls\\\n-la",
        "cat <<E\n$(touch x)\nE",
        "cat <<E\nx",
        "cat <<-E\nx\nE",
        "cat <<E | sh\nx\nE",
        "cat <<E; touch x\ny\nE",
        "cat <<'E F'\nx\nE F",
        "echo x >\ny",
        "http_proxy=x; ls",
        "case a in a) ls;; esac",
        "f() { ls; }; f",
    ] {
        assert!(read(text).proven.is_err(), "{text:?}: {:?}", read(text).proven);
    }
    // Nested loops end, however many times their bodies would run.
    let loops = "for i in a b c d e f g h; do ".repeat(8) + "ls" + &"; done".repeat(8);
    assert!(read(&loops).proven.is_err());
}

#[test]
fn wildcards_are_proven_where_any_file_would_only_be_read() {
    proves("ls *.txt", &[&["ls", "*.txt"]]);
    proves("grep -n x src/*.rs", &[&["grep", "-n", "x", "src/*.rs"]]);
    proves("sort src/*.txt", &[&["sort", "src/*.txt"]]);
    proves("ls; echo \"exit: $?\"", &[&["ls"], &["echo", "exit: $?"]]);
    assert!(read("touch \"$?\"").proven.is_err());
    proves("cat src/\"a b\"/*", &[&["cat", "src/a b/*"]]);
    assert!(read("ls *.txt").proven.unwrap().has_wildcards);
    assert!(!read("ls '*.txt'").proven.unwrap().has_wildcards);
    for text in [
        // A file can be named `--pre=x`, or `-o`.
        "rg x *",
        "sort *.txt",
        "for f in *; do sort \"$f\"; done",
        // Without quotes, the name of a file can become several words.
        "for f in src/*; do sort $f; done",
        "for f in src/*; do sort src/$f; done",
        "uniq src/*",
        "find *",
        "touch *",
        "git log *",
        "sort -*",
        "* x",
        "cat > *",
        "cat < *",
        "x=*; cat $x",
        "ls [ab]*",
        "ls ~/*",
        "[ -f * ]",
    ] {
        assert!(read(text).proven.is_err(), "{text:?}: {:?}", read(text).proven);
    }
}

#[test]
fn quotes_and_backslashes_are_read_as_bash_reads_them() {
    proves(
        "find . \\( -name a -o -name b \\) \\;",
        &[&["find", ".", "(", "-name", "a", "-o", "-name", "b", ")", ";"]],
    );
    proves("ls a\\ b \\$x \\~ \\\\", &[&["ls", "a b", "$x", "~", "\\"]]);
    proves(
        "grep \"a\\|b\" \"c$\" \"\\$x\" \"\\\"\\\\\"",
        &[&["grep", "a\\|b", "c$", "$x", "\"\\"]],
    );
    proves("x=a; grep \"$x\\.b$\" \"\\$x\"", &[&["grep", "a\\.b$", "$x"]]);
    proves(
        "[[ -f x ]] && [[ a == \"b c\" ]]",
        &[&["[[", "-f", "x", "]]"], &["[[", "a", "==", "b c", "]]"]],
    );
    proves("ls &>/dev/null", &[&["ls"]]);
    proves(
        "find . -exec wc {} + a@{1} ! b^",
        &[&["find", ".", "-exec", "wc", "{}", "+", "a@{1}", "!", "b^"]],
    );
    for text in
        ["ls {a,b}", "ls {1..2}", "ls a{}{b,c}", "ls {a}'b'{c,d}", "ls x@{1},{a,b}", "ls ${a}"]
    {
        assert!(read(text).proven.is_err(), "{text}");
    }
    for text in [
        "ls 'a'\\!",
        "ls \\!'a'\\!",
        "LC_ALL=C\\! ls",
        "ls &>out",
        "ls \\\u{e9}",
        "x=a; ls \"$x\\\nb\"",
        "ls &>/dev/tcp/a/1",
    ] {
        doubts(text);
    }
}

#[test]
fn only_settings_that_say_how_a_command_prints_are_proven() {
    proves("LC_ALL=C sort a", &[&["sort", "a"]]);
    proves("GIT_PAGER=cat NO_COLOR=1 git log", &[&["git", "log"]]);
    for text in [
        "LC_ALL=x ls",
        "PATH=x ls",
        "GIT_PAGER=./x git log",
        "LC_ALL=C PATH=x ls",
        "LC_ALL+=C ls",
        "LC_ALL=$(touch x) ls",
        "LC_ALL[0]=C ls",
        "LC_ALL=C",
    ] {
        doubts(text);
    }
}

#[test]
fn conditions_and_scripts_are_proven_where_no_file_could_change_them() {
    for text in [
        "for f in *; do [ -f \"$f\" ]; done",
        "for f in *; do [ ! -d \"$f\" ]; done",
        "for f in *; do [ \"$f\" = x ]; done",
        "for f in *; do [[ \"$f\" == \"x\" ]]; done",
        "ls; [ $? -eq 0 ]",
        "cat -*",
        "printf %s *",
        "find src/* -name x",
        "find . -name *.py",
        "sed -n 1p src/*",
        "awk '{print}' src/*",
        "grep x --include=*.py -r .",
    ] {
        assert!(read(text).proven.is_ok_and(|it| it.has_wildcards), "{text}");
    }
    for text in [
        "for f in *; do [ \"$f\" x ]; done",
        "for f in *; do [ \"$f\" ]; done",
        "for f in *; do [ -f $f ]; done",
        "for f in *; do [ a \"$f\" b ]; done",
        "for f in *; do [ -f a -o \"$f\" ]; done",
        "[ -f * ]",
        "[ -f src/* ]",
        "test -f src/*",
        "for f in *; do [ \"$f\"* = x ]; done",
        "printf *",
        "printf -- *",
        "find . -name *",
        "find *",
        "sed -n src/* x",
        "sed x -e s/*/x/ y",
        "awk src/* x",
        "awk '{print}' *",
        "rg x --pre=*",
        "sort -*",
        "xargs grep *",
        "git log src/*",
    ] {
        doubts(text);
    }
}
