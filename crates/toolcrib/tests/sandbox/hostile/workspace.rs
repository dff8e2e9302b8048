//! Workspaces made from a seed: files, denied files, links, strange names, and settings that make git run programs.

use crate::ground::outside;
use crate::random::Random;
use crate::scratch::Scratch;

/// What no command may print, less the end that each workspace has of its own.
const NEEDLE: &str = "NEEDLE";

/// The rule for what [`FILES`] denies.
pub(super) const DENY: &str = r#"
[[rule]]
id = "no-secrets"
effect = "deny"
paths = ["secrets/**", "**/*.pem", ".env"]
"#;

/// Functions for the scripts. `evil` makes a program that says in a file and on its output that it ran. Its text has
/// neither name in one piece, so that whoever reads it does not look as if it had run.
const FUNCTIONS: &str = r#"
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
EVIL=$PWD/bin/evil
evil() {
    mkdir -p "$(dirname "$1")"
    printf '#!/bin/sh\nm=-RAN\necho "EVIL$m $0"\necho "$0" >> "%s/EVIL$m"\n' "$PWD" > "$1"; chmod +x "$1"
}
key() { git config -f "${3:-.git/config}" "$1" "$2"; }
nested() {
    git init -q -b main "$1" && echo a > "$1/a" && git -C "$1" add a && git -C "$1" commit -qm a && echo b > "$1/a"
    git add "$1" 2>/dev/null && git commit -qm "$1"
}
filtered() { echo '* filter=x' > "$1/.gitattributes"; key filter.x.clean "$EVIL" "${2:-$1/.git}/config"; touch "$1/a"; }
"#;

/// Files of all kinds in a repository. All of them are committed, and some changed afterwards.
const FILES: &str = r#"
set -e
git init -q -b main . && mkdir -p src docs open secrets/deep d 'with space'
printf 'use std::fs;\nfn main() {}\n' > src/main.rs; printf '# Guide\nmore\n' > docs/guide.md
printf '# A\nb\nc\nd\n' > README.md; printf 'x,1\nb,2\nx,1\n' > data.csv; printf '{"a": 1}\n' > data.json
printf 'a\nb\n' > open/a.txt; printf 'a\nc\n' > open/b.txt; echo space > 'with space/na me.txt'; echo dash > ./-dash.txt
echo line > $'new\nline.txt'; echo byte > $'byte\xff.txt'; touch -- '--help' '-rf'; echo open > d/key.txt
for name in .env secrets/key.txt secrets/deep/more.txt open/key.pem 'docs/sp ace.pem' $'src/new\nline.pem' ./-k.pem
do printf 'a\nTOKEN=%s\n' "$NEEDLE" > "$name"; done
ln -s secrets link; ln -s ../.env open/env; ln -s ../docs secrets/out; ln -s loop loop; ln -s ../outside out; ln -s .. docs/up
ln -s ../secrets/key.txt open/plain.txt; ln -s nowhere dangling; ln -s secrets/deep/more.txt 'with space/more'
for name in evil ls cat git grep egrep find head sort which env bash sh bwrap rg strace; do evil bin/$name; evil node_modules/.bin/$name; done
git add -A && git commit -qm one && git tag v1
git checkout -q -b other && echo other >> README.md && git commit -qam other && git checkout -q main
echo main >> README.md && git commit -qam two && { git merge -q other >/dev/null 2>&1 || true; }
echo merged > README.md && git add README.md && git commit -qm merged
echo more >> docs/guide.md && echo '<x>' >> open/a.txt && touch -d 2001-01-01 src/main.rs
"#;

/// What makes git run a program: its name, and a script. The scripts run in this order: those that commit come first,
/// and those that move the repository come last.
const TRAPS: &[(&str, &str)] = &[
    ("nested filter", "nested n1; filtered n1"),
    ("nested monitor", "nested n2; key core.fsmonitor $EVIL n2/.git/config"),
    ("nested hook", "nested n3; evil n3/.git/hooks/post-index-change; touch n3/a"),
    (
        "nested elsewhere",
        "nested n4; mv n4/.git .store4; echo 'gitdir: ../.store4' > n4/.git; filtered n4 .store4",
    ),
    (
        "nested blank",
        "nested n5; mv n5/.git '.store5 '; printf 'gitdir: ../.store5 ' > n5/.git; filtered n5 '.store5 '",
    ),
    ("nested twice", "nested n6; (cd n6; nested in); git -C n6 add in; filtered n6/in"),
    ("nested bytes", r"nested $'n7\xff'; filtered $'n7\xff'"),
    ("nested link", "nested n8; mv n8/.git .store8; ln -s ../.store8 n8/.git; filtered n8 .store8"),
    ("untracked", "git init -q n9; key core.fsmonitor $EVIL n9/.git/config"),
    (
        "bare",
        "git init -q --bare bare; key core.bare false bare/config; key core.worktree .. bare/config; key core.fsmonitor $EVIL bare/config",
    ),
    // The rules are about the files of the workspace and not about copies in other places.
    ("worktree", "git worktree add -q n10 other; rm -rf n10/.env n10/secrets; evil .git/hooks/post-index-change; touch n10/README.md"),
    (
        "submodule",
        "nested n11; key submodule.n11.path n11 .gitmodules; key submodule.n11.url ./n11 .gitmodules; \
         key submodule.n11.update \"!$EVIL\"; filtered n11",
    ),
    (
        "summary",
        "git init -q n12 && (cd n12 && echo a > a && git add a && git commit -qm a && \
         git cat-file commit HEAD | sed 's/^$/gpgsig -----BEGIN PGP SIGNATURE-----\\n x\\n -----END PGP SIGNATURE-----\\n/' > ../c && \
         git reset -q --hard $(git hash-object -t commit -w ../c)); rm c; \
         key log.showSignature true n12/.git/config; key gpg.program $EVIL n12/.git/config; \
         git update-index --add --cacheinfo 100644,$(git rev-parse HEAD:README.md),n12; git commit -qm n12; \
         key submodule.n12.path n12 .gitmodules; key submodule.n12.url ./n12 .gitmodules; key status.submoduleSummary true",
    ),
    (
        "sparse",
        "nested deep/n13; filtered deep/n13; key core.sparseCheckout true; key core.sparseCheckoutCone true; key index.sparse true; \
         printf '/*\\n!/*/\\n' > .git/info/sparse-checkout; \
         python3 - $(git rev-parse HEAD:deep) <<'END'
import hashlib, struct, sys
entry = struct.pack('>10I', 0, 0, 0, 0, 0, 0, 0o040000, 0, 0, 0) + bytes.fromhex(sys.argv[1])
entry += struct.pack('>HH', 0x4005, 0x4000) + b'deep/\\0'
entry += b'\\0' * (-len(entry) % 8)
body = b'DIRC' + struct.pack('>II', 3, 1) + entry + b'sdir' + struct.pack('>I', 0)
open('.git/index', 'wb').write(body + hashlib.sha1(body).digest())
END",
    ),
    (
        "partial",
        "git clone -q --bare . far.git; key uploadpack.allowAnySHA1InWant true far.git/config; \
         key uploadpack.allowFilter true far.git/config; key core.repositoryformatversion 1; key extensions.partialClone far; \
         key remote.far.url \"$PWD/far.git\"; key remote.far.promisor true; key remote.far.partialclonefilter blob:none; \
         key gc.auto 1; key gc.autoDetach false; for n in 263 410 523; do echo $n | git hash-object -w --stdin; done >/dev/null; \
         evil .git/hooks/pre-auto-gc; at=$(git rev-parse HEAD:README.md); rm -f .git/objects/${at:0:2}/${at:2}",
    ),
    (
        "partial by an old address",
        "mkdir -p .git/remotes; echo \"URL: ext::$EVIL x\" > .git/remotes/old; key protocol.ext.allow always; \
         key core.repositoryformatversion 1; key extensions.partialClone old; key remote.old.promisor true; \
         key remote.old.partialclonefilter blob:none; at=$(git rev-parse HEAD:README.md); rm -f .git/objects/${at:0:2}/${at:2}",
    ),
    ("monitor", "key core.fsmonitor $EVIL"),
    ("pager", "key core.pager $EVIL; key pager.status $EVIL; key pager.log $EVIL; key pager.diff $EVIL"),
    ("editor", "key core.editor $EVIL; key sequence.editor $EVIL"),
    (
        "aliases",
        "for name in st status log diff show whatchanged; do key alias.$name \"!$EVIL\"; done",
    ),
    (
        "hooks",
        "for name in pre-commit post-checkout post-index-change reference-transaction pre-auto-gc fsmonitor-watchman; \
         do evil .git/hooks/$name; done",
    ),
    ("hook", "evil .git/hooks/post-index-change"),
    ("hooks elsewhere", "key core.hooksPath tools/hooks; evil tools/hooks/post-index-change"),
    ("clean", "key filter.x.clean $EVIL; echo '* filter=x' > .gitattributes"),
    ("smudge", "key filter.x.smudge $EVIL; key filter.x.required true; echo '* filter=x' > .git/info/attributes"),
    ("process", "key filter.x.process $EVIL; echo '* filter=x' > .gitattributes"),
    ("external", "key diff.external $EVIL"),
    ("textconv", "key diff.x.textconv $EVIL; echo '* diff=x' > .gitattributes"),
    ("driver", "key diff.x.command $EVIL; echo '* diff=x' > .git/info/attributes"),
    ("merge", "key merge.x.driver $EVIL; echo '* merge=x' > .git/info/attributes"),
    (
        "merge again",
        "key merge.x.driver $EVIL; echo '* merge=x' > .git/info/attributes; key log.diffMerges remerge",
    ),
    ("signature", "key gpg.program $EVIL; key log.showSignature true"),
    ("credentials", "key credential.helper \"!$EVIL\"; key core.askPass $EVIL"),
    (
        "transport",
        "key core.sshCommand $EVIL; key core.gitProxy $EVIL; key remote.origin.url ssh://x.invalid/y",
    ),
    ("address", "key remote.origin.url \"ext::$EVIL x\"; key protocol.ext.allow always"),
    ("patches", "key interactive.diffFilter $EVIL; key diff.submodule diff"),
    (
        "worktree settings",
        "key extensions.worktreeConfig true; key core.fsmonitor $EVIL .git/config.worktree; key diff.external $EVIL .git/config.worktree",
    ),
    ("include", "key include.path ../docs/more; key diff.external $EVIL docs/more"),
    ("include if", "key includeIf.onbranch:main.path ../docs/more; key diff.external $EVIL docs/more"),
    ("include a link", "ln -s docs/more some; key include.path ../some; key diff.external $EVIL docs/more"),
    (
        "include bytes",
        r"key include.path $'../docs/more\xff'; key diff.external $EVIL more; mv more $'docs/more\xff'",
    ),
    (
        "include a blank",
        r"printf '[include]\npath = ../docs/more\xc2\xa0\n' >> .git/config; key diff.external $EVIL $'docs/more\xc2\xa0'",
    ),
    ("rebase", "mkdir -p .git/rebase-merge; echo \"exec $EVIL\" > .git/rebase-merge/git-rebase-todo"),
    ("home", "mkdir -p .config/git; key diff.external $EVIL .gitconfig; key core.fsmonitor $EVIL .config/git/config"),
    (
        "common folder",
        "cp -r .git '.common '; printf '../.common ' > .git/commondir; key diff.external $EVIL '.common /config'",
    ),
    ("link", "key diff.external $EVIL; mv .git .store; ln -s .store .git"),
    ("file", "key diff.external $EVIL; mv .git .store; echo 'gitdir: .store' > .git"),
    ("file and blank", "key diff.external $EVIL; mv .git '.store '; printf 'gitdir: .store ' > .git"),
    (
        "other files",
        "mkdir -p other; nested n14; mv n14 other/; filtered other/n14; key core.worktree ../other; \
         mv .git .store; echo 'gitdir: .store' > .git",
    ),
];

/// Returns what the denied files of a workspace hold.
pub(super) fn needle(seed: u64) -> String {
    format!("{NEEDLE}-{:016x}", seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
}

/// Makes a workspace without traps.
#[track_caller]
pub(super) fn make_calm(scratch: &Scratch, seed: u64) {
    outside(scratch, "rm -rf ./* ./.[!.]*; true");
    let script = format!("{FUNCTIONS} NEEDLE={}\n{FILES}", needle(seed));
    let made = outside(scratch, &script);
    assert_eq!(made.code, 0, "seed {seed}: {}{}", made.stdout, made.stderr);
}

/// Makes a workspace with one to three traps, and returns their names. More would hide each other: if Toolcrib finds
/// one, it asks.
#[track_caller]
pub(super) fn make_hostile(scratch: &Scratch, seed: u64) -> Vec<&'static str> {
    make_calm(scratch, seed);
    let mut random = Random::new(seed);
    // The first is another one for each seed, so that as many seeds as there are traps try them all.
    let mut chosen = vec![seed as usize * 31 % TRAPS.len()];
    for _ in 0..random.below(3) {
        chosen.push(random.below(TRAPS.len()));
    }
    chosen.sort_unstable();
    chosen.dedup();
    let mut names = Vec::new();
    for (name, script) in chosen.into_iter().map(|at| TRAPS[at]) {
        let made = outside(scratch, &format!("{FUNCTIONS}{script}"));
        assert!(made.code == 0 || !names.is_empty(), "{name}: {}{}", made.stdout, made.stderr);
        names.push(name);
    }
    outside(scratch, "rm -f EVIL-RAN");
    names
}
