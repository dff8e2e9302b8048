//! Ways in which a command could make git run a program later, outside the sandbox.

/// What a command does, and what a person does later. `$EVIL` is the program.
pub(super) const WAYS: [(&str, &str); 36] = [
    (
        "mkdir -p a && git init -q a/sub && git -C a/sub commit -q --allow-empty -m x && \
         git -C a/sub config core.fsmonitor \"$EVIL\" && git add a/sub",
        "git status",
    ),
    (
        "git init -q p/q/r/s/t && mkdir -p p/q/r/s/t/.git/hooks && \
         printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > p/q/r/s/t/.git/hooks/post-commit && chmod +x p/q/r/s/t/.git/hooks/post-commit",
        "git -C p/q/r/s/t commit --allow-empty -qm x",
    ),
    (
        "mkdir -p tools/hooks && printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > tools/hooks/post-commit && chmod +x tools/hooks/post-commit",
        "git commit --allow-empty -qm x",
    ),
    (
        "mkdir -p tools && printf '[alias]\\n\\tx = \"!%s\"\\n' \"$EVIL\" > tools/more.gitconfig",
        "git x",
    ),
    (
        "GIT_SEQUENCE_EDITOR=\"sed -i -e '1s/^pick/edit/' -e '\\$a exec $EVIL'\" git rebase -q -i HEAD~1; true",
        "git rebase --continue",
    ),
    (
        "git init -q --bare b && git --git-dir b config core.bare false && git --git-dir b config core.worktree . && \
         git --git-dir b config core.fsmonitor \"$EVIL\"",
        "cd b && git status",
    ),
    (
        "git init -q --bare .x/store && git --git-dir .x/store config core.bare false && \
         git --git-dir .x/store config core.fsmonitor \"$EVIL\" && mkdir w && echo 'gitdir: ../.x/store' > w/.git",
        "git -C w status",
    ),
    (
        "git init -q n && printf '[alias]\\n\\tx = \"!%s\"\\n' \"$EVIL\" > evil.cfg && cat n/.git/config >> evil.cfg && \
         ln -sf ../../evil.cfg n/.git/config",
        "git -C n x",
    ),
    (
        "git init -q n && rm -rf n/.git/hooks && mkdir h && ln -s ../../h n/.git/hooks && \
         printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > h/post-commit && chmod +x h/post-commit",
        "git -C n commit --allow-empty -qm x",
    ),
    ("git init -q n && git -C n config alias.x \"!$EVIL\"", "git -C n x"),
    (
        "git init -q n && git -C n config include.path ../../inc && printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$EVIL\" > inc",
        "git -C n status",
    ),
    (
        "mkdir -p tpl/hooks && printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > tpl/hooks/post-commit && \
         chmod +x tpl/hooks/post-commit && git init -q --template=tpl n",
        "git -C n commit --allow-empty -qm x",
    ),
    (
        "git init -q n && printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > n/.git/hooks/post-commit",
        "chmod -R +x n/.git/hooks && git -C n commit --allow-empty -qm x",
    ),
    ("git init -q n && git -C n config core.editor \"$EVIL\"", "git -C n commit --allow-empty"),
    (
        "git init -q n && printf '[core]\\n\\teditor = \"%s\"\\n' \"$EVIL\" > n/.git/config.worktree && \
         git -C n config extensions.worktreeConfig true",
        "git -C n commit --allow-empty",
    ),
    (
        "git init -q n && git -C n config core.sshCommand \"$EVIL;\" && git -C n remote add o ssh://x.invalid/y",
        "git -C n fetch o",
    ),
    (
        "git init -q n/deep && mv n/deep/.git n/store && echo 'gitdir: ../store' > n/deep/.git && \
         git -C n/deep config diff.external \"$EVIL\" && echo a > n/deep/f && git -C n/deep add f && echo b > n/deep/f",
        "git -C n/deep diff",
    ),
    (
        "git commit -q --allow-empty -m y && echo z > z && git add z && git commit -q -m z; \
         GIT_SEQUENCE_EDITOR='sed -i 1s/^pick/edit/' git rebase -q -i HEAD~2; echo x/evil > .git/rebase-merge/strategy; \
         mkdir git-merge-x && printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > git-merge-x/evil && chmod +x git-merge-x/evil && \
         git commit -q --amend --allow-empty -m b",
        "GIT_EDITOR=true git rebase --continue",
    ),
    ("git init -q n && git -C n config core.fsmonitor \"$EVIL\" && chmod 111 n", "git -C n status"),
    (
        "git init -q n && git -C n config core.fsmonitor \"$EVIL\" && chmod 311 n/.git",
        "git -C n status",
    ),
    (
        "git init -q n && git -C n config core.fsmonitor \"$EVIL\" && chmod 444 n/.git/config && chmod 555 n/.git n",
        "git -C n status",
    ),
    (
        "mkdir -p d/.git && touch d/.git/objects d/.git/refs && chmod +x d/.git/objects d/.git/refs && \
         echo ref: refs/heads/main > d/.git/HEAD && \
         printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = \"%s\"\\n' \"$EVIL\" > d/.git/config",
        "git -C d status",
    ),
    (
        "git init -q d && cp -r d/.git c && git --git-dir c config core.fsmonitor \"$EVIL\" && rm c/HEAD d/.git/config && \
         echo /proc/self/cwd/../c > d/.git/commondir",
        "cd d && git status",
    ),
    (
        "git init -q n && git -C n config alias.st \"ls-remote --upload-pack='$EVIL;' .\"",
        "git -C n st",
    ),
    (
        "git init -q n && git -C n config diff.external \"$EVIL\" && echo a > n/f && git -C n add f && echo b > n/f && \
         chmod 0 n/.git/hooks",
        "git -C n diff",
    ),
    // Git writes through a link to its own settings.
    (
        "ln -sf config .git/COMMIT_EDITMSG && echo q > q && git add q && \
         printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$EVIL\" > .git/MERGE_MSG",
        "GIT_EDITOR=true git commit -q; git status",
    ),
    (
        "git init -q d && cp -r d/.git c && git --git-dir c config core.fsmonitor \"$EVIL\" && rm c/HEAD d/.git/config && \
         { printf ../../c; yes '' | head -5000; } > d/.git/commondir",
        "git -C d status",
    ),
    (
        "git init -q d && cp -r d/.git c && git --git-dir c config core.fsmonitor \"$EVIL\" && rm c/HEAD d/.git/config && \
         echo ../../c > far && ln -s ../../far d/.git/commondir",
        "git -C d status",
    ),
    (
        "git init -q d && mkdir -p x/y && ln -s x/y l && cp -r d/.git x/c && rm x/c/HEAD d/.git/config && \
         git init -q e && git -C e config core.fsmonitor \"$EVIL\" && cp e/.git/config x/c/config && rm -rf e && \
         echo ../../l/../c > d/.git/commondir",
        "git -C d status",
    ),
    (
        "git init -q n && git -C n config core.fsmonitor \"$EVIL\" && chmod 0 n/.git/config",
        "chmod 644 n/.git/config; git -C n status",
    ),
    (
        "GIT_SEQUENCE_EDITOR='sed -i 1s/^pick/edit/' git rebase -q -i HEAD~1; \
         printf 'exec %s #\\r\\n' \"$EVIL\" >> .git/rebase-merge/git-rebase-todo",
        "GIT_EDITOR=true git rebase --continue",
    ),
    (
        "git init -q n && mkdir n/yes && printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > n/yes/post-commit && \
         chmod +x n/yes/post-commit && git -C n config core.hooksPath yes",
        "git -C n commit -q --allow-empty -m x",
    ),
    (
        "mkdir -p np/.git/hooks && printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > np/.git/hooks/post-commit && \
         chmod +x np/.git/hooks/post-commit",
        "git init -q np; git -C np commit -q --allow-empty -m x",
    ),
    (
        "git init -q n && git -C n config core.fsmonitor \"$EVIL\" && chmod 311 .",
        "chmod 755 .; git -C n status",
    ),
    (
        "mkdir -p tools/hooks && git init -q m && printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > m/post-commit && \
         chmod +x m/post-commit && git -C m add -A && git -C m commit -qm 1 && \
         git -C m config core.worktree ../../tools/hooks",
        "git -C m checkout -q -f; git commit -q --allow-empty -m x",
    ),
    (
        "mkdir -p sub/tools/hooks && echo 'gitdir: ../.git' > sub/.git && \
         printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > sub/tools/hooks/post-commit && chmod +x sub/tools/hooks/post-commit",
        "git -C sub commit -q --allow-empty -m x",
    ),
];
