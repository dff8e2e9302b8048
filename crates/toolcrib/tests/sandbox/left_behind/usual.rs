//! What agents do with git all day.

/// Commands that have to work, in this order, with nothing held.
pub(super) const USUAL: [&str; 28] = [
    "git init -q fresh",
    "git clone -q . copy",
    "git clone -q --bare . copy.git",
    "git -C copy status",
    "git -C copy log --oneline",
    "git -C copy checkout -q -b topic",
    "echo more >> copy/file && git -C copy add file",
    "git -C copy commit -qm more",
    "git -C copy commit -q --amend -m again",
    "git -C copy stash list",
    "echo less > copy/file && git -C copy stash -q && git -C copy stash pop -q",
    "git -C copy checkout -q -- file",
    "git -C copy tag v1",
    "git -C copy branch other",
    "git -C copy merge -q other",
    "git -C copy rebase -q main",
    "git -C copy cherry-pick --allow-empty HEAD 2>&1 || git -C copy cherry-pick --skip",
    "git -C copy push -q ../copy.git HEAD:refs/heads/pushed",
    "git --git-dir copy.git gc -q",
    "git -C copy fetch -q ../copy.git",
    "git -C copy reset -q --hard HEAD",
    "git -C copy diff HEAD~1 --stat",
    "git add file && git commit -q --allow-empty -m here",
    "git rm -q file && git commit -qm gone",
    // A command may do with a repository that a command made what it likes.
    "git -C copy config user.name somebody && git -C copy remote add other ../copy.git",
    "mv copy moved && git -C moved fetch -q other && git -C moved log --oneline",
    "git -C moved clean -fdxq && git -C moved stash -q -u",
    "rm -rf moved copy.git fresh && ! [ -e moved ]",
];
