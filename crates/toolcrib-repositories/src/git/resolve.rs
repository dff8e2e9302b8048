//! From a revision, as people write it, to a commit.

use toolcrib_core::{Cancel, ErrorKind, ToolError, nearest};

use crate::git::objects::GitObjects;
use crate::git::program::{GitProgram, GitRun};
use crate::object_id::ObjectId;
use crate::revision_text::check_revision;

/// How many tags may lead to each other.
const MOST_NESTED_TAGS: usize = 10;

/// How many branches and tags are looked through for a name that was meant.
const MOST_NAMES: usize = 2000;

/// Returns the commit that a revision leads to now.
pub(super) fn resolve(
    git: &GitProgram,
    objects: &GitObjects,
    revision: &str,
    shown: &str,
    cancel: &Cancel,
) -> Result<ObjectId, ToolError> {
    check_revision(revision)?;
    let run = git.run(&["rev-parse", "--verify", "--end-of-options", revision], cancel)?;
    if run.errors.contains("is ambiguous") {
        return Err(ambiguous(revision));
    }
    let id = run.output.lines().next().and_then(ObjectId::from_hex);
    if let Some(id) = id.filter(|_| run.status.success())
        && let Some(commit) = peel(objects, id, revision, cancel)?
    {
        return Ok(commit);
    }
    Err(why_not(git, &run, revision, shown, cancel))
}

/// Returns the commit that an object leads to; nothing if an object is missing.
fn peel(
    objects: &GitObjects,
    id: ObjectId,
    revision: &str,
    cancel: &Cancel,
) -> Result<Option<ObjectId>, ToolError> {
    let mut id = id;
    for _ in 0..MOST_NESTED_TAGS {
        match objects.kind_of(&id, cancel)?.as_deref() {
            None => return Ok(None),
            Some(b"commit") => return Ok(Some(id)),
            Some(b"tag") => id = objects.target_of(&id, cancel)?,
            Some(kind) => {
                let kind = String::from_utf8_lossy(kind);
                let message =
                    format!("the revision `{revision}` leads to a {kind}, and not to a commit");
                return Err(ToolError::new(ErrorKind::BadArgs, message).hint(
                    "write a branch, a tag or a commit; files are chosen by their paths later",
                ));
            }
        }
    }
    let message = format!("the revision `{revision}` leads from tag to tag, and to no commit");
    Err(ToolError::new(ErrorKind::BadArgs, message).hint("write a commit"))
}

fn ambiguous(revision: &str) -> ToolError {
    let is_id = revision.len() >= 4 && revision.bytes().all(|byte| byte.is_ascii_hexdigit());
    let hint = if is_id {
        "write more digits of the commit, or `refs/heads/…` for a branch".to_owned()
    } else {
        format!(
            "write `refs/heads/{revision}` for the branch, or `refs/tags/{revision}` for the tag"
        )
    };
    let message = format!("the revision `{revision}` is ambiguous: it names several things");
    ToolError::new(ErrorKind::BadArgs, message).hint(hint)
}

/// Returns why git found no commit.
fn why_not(
    git: &GitProgram,
    run: &GitRun,
    revision: &str,
    shown: &str,
    cancel: &Cancel,
) -> ToolError {
    let says = run
        .errors
        .lines()
        .find_map(|line| line.strip_prefix("fatal: ").or_else(|| line.strip_prefix("error: ")));
    let says = says.unwrap_or("it did not say why");
    let repository =
        ["not a git repository", "repository format", "repo version", "extension", "dubious"];
    if repository.iter().any(|it| says.contains(it)) {
        let message = format!("git cannot open the repository `{shown}`: {says}");
        return ToolError::new(ErrorKind::Unavailable, message)
            .hint("check the repository with `git fsck`, or install a newer git");
    }
    let count = format!("--count={MOST_NAMES}");
    let list = ["for-each-ref", &count, "--format=%(refname:short)", "refs/heads", "refs/tags"];
    let remote = ["for-each-ref", &count, "--format=%(refname:short)", "refs/remotes"];
    let names = |args: &[&str]| git.run(args, cancel).map(|run| run.output).unwrap_or_default();
    let known = names(&list) + &names(&remote);
    if known.is_empty()
        && git
            .run(&["rev-parse", "--verify", "--quiet", "HEAD"], cancel)
            .is_ok_and(|run| !run.status.success())
    {
        let message = format!("the repository `{shown}` has no commits yet");
        return ToolError::new(ErrorKind::Unavailable, message)
            .hint("commit something, or connect the folder itself");
    }
    let message = format!("the repository `{shown}` has no revision `{revision}`");
    let remote = known.lines().filter(|name| name.rsplit('/').next() == Some(revision));
    let near = nearest::nearest(revision, known.lines(), 3);
    let meant: Vec<&str> = remote.take(3).collect();
    let hint = match if meant.is_empty() { near } else { meant } {
        names if names.is_empty() => {
            "`git branch --all` and `git tag` list what there is; `git fetch` gets what is new"
                .to_owned()
        }
        names => format!("did you mean {}?", nearest::either(&names)),
    };
    ToolError::new(ErrorKind::NotFound, message).hint(hint)
}
