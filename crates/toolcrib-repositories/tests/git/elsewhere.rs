//! Where a `.git` leads: to the repository that git has made for the work tree, and to no other one.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use toolcrib_core::{Cancel, ErrorKind, Tree};
use toolcrib_repositories::{GitRepository, GitRepositoryOptions};

use crate::sample::{Sample, init, run};

/// A repository of the user's that nobody connected, and a folder that somebody did.
struct TwoFolders {
    _folder: TempDir,
    private: PathBuf,
    connected: PathBuf,
}

impl TwoFolders {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = std::fs::canonicalize(folder.path()).unwrap();
        let (private, connected) = (path.join("private"), path.join("connected"));
        init(&private, &[]);
        Sample::default().file("secret.txt", "secret\n").commit(&private, "main");
        std::fs::create_dir(&connected).unwrap();
        Self { _folder: folder, private, connected }
    }

    fn write(&self, path: &str, text: impl AsRef<str>) {
        let path = self.connected.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text.as_ref()).unwrap();
    }

    #[track_caller]
    fn check_refused(&self, why: &str) {
        let err = GitRepository::open(&self.connected, "main").unwrap_err();
        assert_eq!(err.kind, ErrorKind::Unavailable, "{err}");
        assert!(err.message.contains(why), "{err}");
    }
}

fn read(path: &Path, file: &str) -> Vec<u8> {
    let repository = GitRepository::open(path, "main").unwrap();
    repository.files_for(&Cancel::default()).read(file, 99).unwrap().bytes
}

/// Whether git itself, which trusts what is in the folder, shows the secret.
fn git_shows_it(path: &Path) -> bool {
    run(path, &["show", "main:secret.txt"]) == b"secret\n"
}

#[test]
fn work_trees_and_submodules_that_git_has_made_are_read() {
    let it = TwoFolders::new();
    let tree = it.connected.join("tree");
    let shown = tree.display().to_string();
    run(&it.private, &["worktree", "add", "--quiet", "--detach", &shown, "main"]);
    assert_eq!(read(&tree, "secret.txt"), b"secret\n");
    // As newer versions of git can write it.
    let inner = it.private.join(".git/worktrees/tree");
    std::fs::write(inner.join("gitdir"), "../../../../connected/tree/.git\n").unwrap();
    std::fs::write(tree.join(".git"), "gitdir: ../../private/.git/worktrees/tree\n").unwrap();
    assert_eq!(read(&tree, "secret.txt"), b"secret\n");
    // What only points to a work tree is none of it.
    std::fs::write(inner.join("gitdir"), "/elsewhere/.git\n").unwrap();
    assert!(git_shows_it(&tree), "git does not mind");
    let err = GitRepository::open(&tree, "main").unwrap_err();
    assert!(err.message.contains("does not know this work tree"), "{err}");

    let above = it.connected.join("above");
    init(&above, &[]);
    let url = it.private.display().to_string();
    let allow = "protocol.file.allow=always";
    run(&above, &["-c", allow, "submodule", "--quiet", "add", &url, "module"]);
    let module = above.join("module");
    assert!(module.join(".git").is_file());
    assert_eq!(read(&module, "secret.txt"), b"secret\n");
    let settings = above.join(".git/modules/module/config");
    let text = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(settings, text.replace("../../../module", "/elsewhere")).unwrap();
    let err = GitRepository::open(&module, "main").unwrap_err();
    assert!(err.message.contains("does not know this work tree"), "{err}");
}

#[test]
fn a_path_of_the_operator_may_be_a_link() {
    let it = TwoFolders::new();
    let link = it.connected.join("link");
    symlink(&it.private, &link).unwrap();
    assert_eq!(read(&link, "secret.txt"), b"secret\n");
    // What is connected is the folder behind it, whose `.git` may be a link that stays inside.
    std::fs::rename(it.private.join(".git"), it.private.join("store")).unwrap();
    symlink("store", it.private.join(".git")).unwrap();
    assert_eq!(read(&it.private, "secret.txt"), b"secret\n");
}

#[test]
fn a_git_link_leads_to_no_other_repository() {
    let it = TwoFolders::new();
    symlink(it.private.join(".git"), it.connected.join(".git")).unwrap();
    assert!(git_shows_it(&it.connected), "the test tests nothing");
    it.check_refused("leads out of the folder");
}

#[test]
fn a_git_file_leads_to_no_other_repository() {
    let it = TwoFolders::new();
    it.write(".git", format!("gitdir: {}/.git\n", it.private.display()));
    assert!(git_shows_it(&it.connected), "the test tests nothing");
    it.check_refused("does not know this work tree");
    // A folder that an agent has made knows it, and leads on.
    it.write(".git", "gitdir: fake\n");
    it.write("fake/gitdir", format!("{}/.git\n", it.connected.display()));
    it.write("fake/HEAD", "ref: refs/heads/main\n");
    it.write("fake/commondir", format!("{}/.git\n", it.private.display()));
    assert!(git_shows_it(&it.connected), "the test tests nothing");
    it.check_refused("not among the work trees");
    it.write(".git", "gitdir: other/worktrees/fake\n");
    it.write("other/worktrees/fake/gitdir", format!("{}/.git\n", it.connected.display()));
    it.write("other/worktrees/fake/HEAD", "ref: refs/heads/main\n");
    it.write("other/worktrees/fake/commondir", format!("{}/.git\n", it.private.display()));
    assert!(git_shows_it(&it.connected), "the test tests nothing");
    it.check_refused("another repository than the one it is in");
}

#[test]
fn a_git_folder_leads_to_no_other_repository() {
    let it = TwoFolders::new();
    init(&it.connected, &[]);
    Sample::default().file("own.txt", "own\n").commit(&it.connected, "main");
    // The sandbox writes one that leads nowhere else.
    it.write(".git/commondir", ".\n");
    assert_eq!(read(&it.connected, "own.txt"), b"own\n");
    it.write(".git/commondir", format!("{}/.git\n", it.private.display()));
    assert!(git_shows_it(&it.connected), "the test tests nothing");
    it.check_refused("is not in a linked work tree");
    std::fs::remove_file(it.connected.join(".git/commondir")).unwrap();
    assert_eq!(read(&it.connected, "own.txt"), b"own\n");
    for name in ["objects", "refs"] {
        let own = it.connected.join(".git").join(name);
        std::fs::rename(&own, it.connected.join("before")).unwrap();
        symlink(it.private.join(".git").join(name), &own).unwrap();
        it.check_refused("leads out of its git folder");
        std::fs::remove_file(&own).unwrap();
        std::fs::rename(it.connected.join("before"), &own).unwrap();
    }
    assert_eq!(read(&it.connected, "own.txt"), b"own\n");
}

/// A connected repository of its own, beside the private one.
fn two_repositories() -> TwoFolders {
    let it = TwoFolders::new();
    init(&it.connected, &[]);
    Sample::default().file("own.txt", "own\n").commit(&it.connected, "main");
    it
}

#[test]
fn alternates_lead_to_no_other_repository() {
    let it = two_repositories();
    let (own, private) = (it.connected.join(".git"), it.private.join(".git/objects"));
    let secret = run(&it.private, &["rev-parse", "main:secret.txt"]);
    let secret = String::from_utf8(secret).unwrap();
    let alternates = ".git/objects/info/alternates";
    for text in [private.display().to_string(), "../../../private/.git/objects".to_owned()] {
        it.write(alternates, format!("# a comment\n{text}\n"));
        let shown = run(&it.connected, &["cat-file", "blob", secret.trim()]);
        assert_eq!(shown, b"secret\n", "the test tests nothing");
        it.check_refused("leads to the objects of another repository");
    }
    it.write(alternates, format!("\"{}\"\n", private.display()));
    it.check_refused("leads to the objects of another repository");
    // Git takes `..` away first, so that this one is out of the folder, though the link is not.
    std::fs::create_dir_all(own.join("a/b/c/d")).unwrap();
    symlink("../a/b/c/d", own.join("objects/link")).unwrap();
    it.write(alternates, "link/../../../../private/.git/objects\n");
    it.check_refused("leads to the objects of another repository");
    std::fs::remove_file(own.join("objects/link")).unwrap();
    // What stays inside is read, unless it leads on.
    it.write(alternates, format!("../more\n{}/more\n", own.display()));
    std::fs::create_dir_all(own.join("more/info")).unwrap();
    assert_eq!(read(&it.connected, "own.txt"), b"own\n");
    it.write(".git/more/info/alternates", format!("{}\n", private.display()));
    it.check_refused("leads to the objects of another repository");
    it.write(alternates, "");
    assert_eq!(read(&it.connected, "own.txt"), b"own\n");
    it.write(".git/objects/info/http-alternates", format!("{}\n", private.display()));
    it.check_refused("leads to the objects of another repository");
}

#[test]
fn links_in_a_git_folder_lead_to_no_other_repository() {
    let it = two_repositories();
    let own = it.connected.join(".git");
    std::fs::create_dir_all(own.join("refs/heads/deep/er")).unwrap();
    std::fs::create_dir_all(own.join("objects/info")).unwrap();
    std::fs::create_dir_all(own.join("objects/pack")).unwrap();
    std::fs::create_dir_all(own.join("inner")).unwrap();
    let names = [
        "refs/link",
        "refs/heads/deep/er/link",
        "objects/link",
        "objects/info/link",
        "objects/pack/link",
    ];
    for link in names.map(|name| own.join(name)) {
        symlink(own.join("inner"), &link).unwrap();
        assert_eq!(read(&it.connected, "own.txt"), b"own\n", "{}", link.display());
        std::fs::remove_file(&link).unwrap();
        symlink(it.private.join(".git/refs"), &link).unwrap();
        it.check_refused("leads out of its git folder");
        std::fs::remove_file(&link).unwrap();
    }
    // A link inside leads to one that leads out, and another to itself.
    symlink(own.join("refs"), own.join("refs/again")).unwrap();
    symlink(own.join("inner"), own.join("refs/inner")).unwrap();
    assert_eq!(read(&it.connected, "own.txt"), b"own\n");
    symlink(it.private.join(".git/refs"), own.join("inner/link")).unwrap();
    it.check_refused("leads out of its git folder");
}

#[test]
fn nothing_is_read_in_closed_folders() {
    let it = TwoFolders::new();
    let tree = it.connected.join("tree");
    let shown = tree.display().to_string();
    run(&it.private, &["worktree", "add", "--quiet", "--detach", &shown, "main"]);
    let open = |path: &Path, closed: &Path| {
        let closed_folders = vec![closed.to_owned()];
        let options = GitRepositoryOptions { closed_folders, ..GitRepositoryOptions::default() };
        let opened = GitRepository::open_with(path, "main", options, &Cancel::default());
        opened.map(|_| ()).map_err(|err| err.kind)
    };
    assert_eq!(open(&it.private, &it.private.join("other")), Ok(()));
    assert_eq!(open(&it.private, &it.private), Err(ErrorKind::Refused));
    assert_eq!(open(&it.private.join(".git"), &it.private), Err(ErrorKind::Refused));
    assert_eq!(open(&tree, &it.private), Err(ErrorKind::Refused), "its objects are there");
    let link = it.connected.join("link");
    symlink(&it.private, &link).unwrap();
    assert_eq!(open(&link, &it.private), Err(ErrorKind::Refused));
}
