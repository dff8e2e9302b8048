//! The file system that a command sees: a root of its own, with the system read-only, scratch space of fixed size,
//! the operator's toolchains, and the workspace.

use std::fs;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};

use super::config::{Operator, Profile, SandboxRules};
use super::etc_folder;
use super::program_search::{ProgramSearch, SYSTEM_FOLDERS};
use super::state_folder::SandboxFolder;
use toolcrib_inside::wire::{Nested, Staged, User};
use toolcrib_inside::{Shield, ShieldKind, staged_place};

/// The home of commands if the operator has none that could be shown.
const FALLBACK_HOME: &str = "/home/toolcrib";

/// Scratch space that everything in a sandbox has.
const TEMPORARY: &str = "/tmp";
const SHARED_MEMORY: &str = "/dev/shm";

/// How many bytes the shared memory holds at most.
const MOST_SHARED_MEMORY: u64 = 64 << 20;

/// A file or folder that a worker sees.
pub(crate) struct SeenFolder {
    pub(crate) handle: OwnedFd,
    pub(crate) source: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) access: Access,
    /// Whether it is a copy of the source, so that the list of mounts does not tell where that is.
    pub(crate) is_copied: bool,
    /// Whether the command or worker counts as the owner of its files.
    pub(crate) is_owned: bool,
}

/// A mount of something outside the system's folders.
struct BindMount {
    handle: OwnedFd,
    source: PathBuf,
    target: PathBuf,
    is_directory: bool,
    access: Access,
    owner: Option<User>,
    is_copied: bool,
}

/// What every command of a workspace sees, or every worker of one kind.
pub(crate) struct SandboxView {
    binds: Vec<BindMount>,
    roots: usize,
    system: Vec<String>,
    /// The folders of scratch space, and how many bytes each holds.
    scratch: (Vec<PathBuf>, u64),
    pub(crate) user: Option<User>,
    pub(crate) environment: Vec<String>,
}

/// What commands may do with a mount.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    ReadOnly,
    Writable,
}

impl SandboxView {
    /// Opens everything that commands are to see.
    pub(crate) fn new(
        rules: &SandboxRules,
        operator: &Operator,
        roots: &[(&Path, BorrowedFd<'_>)],
        folder: &SandboxFolder,
        programs: &ProgramSearch,
    ) -> io::Result<Self> {
        let is_root = rustix::process::geteuid().is_root();
        let user = match (is_root, rules.profile) {
            (true, Profile::Strict) => Some(commands_user(roots, rules.user)?),
            _ => None,
        };
        let home = home_of(operator);
        let mut view = Self {
            binds: Vec::new(),
            roots: roots.len(),
            system: system(),
            scratch: (vec![PathBuf::from(TEMPORARY), home.clone()], rules.limits.scratch),
            user,
            environment: Vec::new(),
        };
        for (path, handle) in roots {
            view.add_root(path, *handle)?;
        }
        view.add_etc(&folder.etc(), &home)?;
        for path in programs.toolchains() {
            view.add(path, path, Access::ReadOnly)?;
        }
        for name in &rules.caches {
            let source = folder.caches().join(name.replace('/', "%"));
            fs::create_dir_all(&source)?;
            let target = home.join(name);
            view.add(&source, &target, Access::Writable)?;
        }
        view.environment = environment(operator, &home, programs);
        Ok(view)
    }

    /// Opens everything that a worker is to see: the system, these folders, and scratch space of this many bytes.
    /// There is no workspace and no home.
    pub(crate) fn for_worker(
        rules: &SandboxRules,
        folder: &SandboxFolder,
        folders: Vec<SeenFolder>,
        scratch: u64,
    ) -> io::Result<Self> {
        let is_root = rustix::process::geteuid().is_root();
        let mut view = Self {
            binds: Vec::new(),
            roots: 0,
            system: system(),
            // A file system of no size would have no limit.
            scratch: (vec![PathBuf::from(TEMPORARY)], scratch.max(1)),
            user: match (is_root, rules.profile) {
                (true, Profile::Strict) => Some(commands_user(&[], rules.user)?),
                _ => None,
            },
            environment: Vec::new(),
        };
        view.add_etc(&folder.worker_etc(), Path::new(TEMPORARY))?;
        for seen in folders {
            view.add_open(seen)?;
        }
        Ok(view)
    }

    fn add_etc(&mut self, etc: &Path, home: &Path) -> io::Result<()> {
        let mounted = etc_folder::prepare(etc, home)?;
        let (source, target) = (etc.to_owned(), PathBuf::from("/etc"));
        let (handle, access) = (open(etc)?, Access::ReadOnly);
        // A mount would tell commands, in the list of their mounts, where our state folder is.
        let (is_copied, is_owned) = (true, false);
        self.add_open(SeenFolder { handle, source, target, access, is_copied, is_owned })?;
        for source in mounted {
            self.add(&source, &source, Access::ReadOnly)?;
        }
        Ok(())
    }

    fn add_root(&mut self, path: &Path, handle: BorrowedFd<'_>) -> io::Result<()> {
        let meta = rustix::fs::fstat(handle)?;
        let owner = User { uid: meta.st_uid, gid: meta.st_gid };
        self.binds.push(BindMount {
            handle: handle.try_clone_to_owned()?,
            source: path.to_owned(),
            target: path.to_owned(),
            is_directory: true,
            access: Access::Writable,
            owner: self.mapped(owner),
            is_copied: false,
        });
        Ok(())
    }

    fn add(&mut self, source: &Path, target: &Path, access: Access) -> io::Result<()> {
        let handle = open(source)?;
        let (source, target) = (source.to_owned(), target.to_owned());
        let (is_copied, is_owned) = (false, access == Access::Writable);
        self.add_open(SeenFolder { handle, source, target, access, is_copied, is_owned })
    }

    fn add_open(&mut self, seen: SeenFolder) -> io::Result<()> {
        let SeenFolder { handle, source, target, access, is_copied, is_owned } = seen;
        let meta = rustix::fs::fstat(&handle)?;
        let owner = User { uid: meta.st_uid, gid: meta.st_gid };
        self.binds.push(BindMount {
            handle,
            source,
            target,
            is_directory: FileType::from_raw_mode(meta.st_mode) == FileType::Directory,
            access,
            owner: if is_owned { self.mapped(owner) } else { None },
            is_copied,
        });
        Ok(())
    }

    /// Returns the owner that the files of a command are mapped to, or `None` if the command already is that user.
    fn mapped(&self, owner: User) -> Option<User> {
        self.user.filter(|user| user.uid != owner.uid).map(|_| owner)
    }

    /// Returns what the launcher has to stage.
    pub(crate) fn staged(&self) -> io::Result<Vec<Staged>> {
        let staged = |bind: &BindMount| {
            let meta = rustix::fs::fstat(&bind.handle)?;
            Ok(Staged {
                source: bind.source.display().to_string(),
                is: (meta.st_dev, meta.st_ino),
                is_directory: bind.is_directory,
                owner: bind.owner,
                is_copied: bind.is_copied,
            })
        };
        self.binds.iter().map(staged).collect()
    }

    /// Returns the folders that a command may write to. `access` is what it may do with the roots.
    pub(crate) fn writable(&self, access: Access) -> Vec<String> {
        let roots = if access == Access::Writable { 0 } else { self.roots };
        let binds = self.binds[roots..]
            .iter()
            .filter(|bind| bind.access == Access::Writable)
            .map(|bind| &bind.target);
        let all = binds.chain(&self.scratch.0).map(|path| path.display().to_string());
        all.chain([SHARED_MEMORY.to_owned()]).collect()
    }

    /// Returns bubblewrap's options for one command. Shields, and roots within roots, are already mounted in the
    /// staged roots.
    pub(crate) fn options(&self, access: Access) -> Vec<String> {
        self.options_from(&[], access, staged_place, |number| self.outer(number).is_none())
    }

    /// Returns the innermost root that contains the root with this number.
    fn outer(&self, number: usize) -> Option<usize> {
        let target = &self.binds[number].target;
        let is_around = |other: &usize| {
            let other = &self.binds[*other].target;
            other != target && target.starts_with(other)
        };
        let around = (0..self.roots).filter(is_around);
        around.max_by_key(|other| self.binds[*other].target.components().count())
    }

    /// Returns the roots that are within other roots, the innermost first.
    pub(crate) fn nested(&self) -> io::Result<Vec<Nested>> {
        let mut all = Vec::new();
        for inner in 0..self.roots {
            let Some(outer) = self.outer(inner) else { continue };
            let meta = rustix::fs::fstat(&self.binds[inner].handle)?;
            let (target, above) = (&self.binds[inner].target, &self.binds[outer].target);
            let path = target.strip_prefix(above).unwrap_or(target).to_owned();
            all.push(Nested { inner, outer, path, is: (meta.st_dev, meta.st_ino) });
        }
        let depth = |nested: &Nested| self.binds[nested.inner].target.components().count();
        all.sort_by_key(|nested| std::cmp::Reverse(depth(nested)));
        Ok(all)
    }

    /// Returns the options with the real paths of everything, and with these shields on each root.
    pub(crate) fn plain_options(&self, shields: &[&[Shield]]) -> Vec<String> {
        let source = |number: usize| self.binds[number].source.clone();
        self.options_from(shields, Access::Writable, source, |_| true)
    }

    fn options_from(
        &self,
        shields: &[&[Shield]],
        access: Access,
        source: impl Fn(usize) -> PathBuf,
        is_wanted: impl Fn(usize) -> bool,
    ) -> Vec<String> {
        let mut options = Options(self.system.clone());
        let (folders, scratch) = &self.scratch;
        let shared = MOST_SHARED_MEMORY.min(*scratch).to_string();
        options.add(["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"]);
        options.add(["--size", &shared, "--tmpfs", SHARED_MEMORY, "--remount-ro", "/dev"]);
        for folder in folders {
            let (size, folder) = (scratch.to_string(), folder.display().to_string());
            options.add(["--size", &size, "--tmpfs", &folder]);
        }
        options.add(["--symlink", TEMPORARY, "/var/tmp", "--dir", "/run"]);
        // The workspace comes last, over whatever else is at its place.
        let (roots, others) = self.binds.split_at(self.roots);
        for (number, bind) in others.iter().enumerate() {
            options.bind(bind.access, &source(number + roots.len()), &bind.target);
        }
        // An outer root comes before the roots within it, and the shields come after all roots.
        let mut order: Vec<usize> = (0..roots.len()).filter(|number| is_wanted(*number)).collect();
        order.sort_by_key(|number| roots[*number].target.components().count());
        for number in &order {
            options.bind(access, &source(*number), &roots[*number].target);
        }
        for number in order {
            let (from, target) = (source(number), &roots[number].target);
            for shield in shields.get(number).copied().unwrap_or_default() {
                let access = match shield.kind {
                    ShieldKind::InPlace => Access::Writable,
                    ShieldKind::ReadOnly | ShieldKind::Masked => Access::ReadOnly,
                };
                options.bind(access, &from.join(&shield.path), &target.join(&shield.path));
            }
        }
        options.add(["--remount-ro", "/"]);
        options.0
    }
}

fn open(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Options of bubblewrap, word by word.
struct Options(Vec<String>);

impl Options {
    fn add<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(str::to_owned));
    }

    fn bind(&mut self, access: Access, source: &Path, target: &Path) {
        let option = match access {
            Access::ReadOnly => "--ro-bind",
            Access::Writable => "--bind",
        };
        self.add([option, &source.display().to_string(), &target.display().to_string()]);
    }
}

/// Returns the options for the namespaces and for the system's folders.
fn system() -> Vec<String> {
    let mut options = Options(Vec::new());
    options.add([
        "--unshare-user",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--disable-userns",
        "--cap-drop",
        "ALL",
        "--new-session",
        "--die-with-parent",
        "--as-pid-1",
        "--uid",
        "1000",
        "--gid",
        "1000",
        "--hostname",
        "toolcrib",
    ]);
    for folder in SYSTEM_FOLDERS {
        match fs::read_link(folder) {
            Ok(target) => options.add(["--symlink", &target.display().to_string(), folder]),
            Err(_) if Path::new(folder).is_dir() => options.add(["--ro-bind", folder, folder]),
            Err(_) => {}
        }
    }
    options.0
}

/// Returns the home folder of commands: the operator's place, without what is there.
pub(crate) fn home_of(operator: &Operator) -> PathBuf {
    match &operator.home {
        Some(home) if home.is_absolute() && home.parent().is_some() => home.clone(),
        _ => PathBuf::from(FALLBACK_HOME),
    }
}

/// Returns the user that commands run as when Toolcrib is the superuser: the owner of the workspace, if that is
/// another user, so that no owners need to be mapped; else the user from the settings.
fn commands_user(roots: &[(&Path, BorrowedFd<'_>)], user: u32) -> io::Result<User> {
    if let Some((_, handle)) = roots.first() {
        let meta = rustix::fs::fstat(handle)?;
        if meta.st_uid != 0 && meta.st_gid != 0 {
            return Ok(User { uid: meta.st_uid, gid: meta.st_gid });
        }
    }
    Ok(User { uid: user, gid: user })
}

/// Returns the whole environment of a command.
fn environment(operator: &Operator, home: &Path, programs: &ProgramSearch) -> Vec<String> {
    let mut all = vec![
        format!("PATH={}", programs.path()),
        format!("HOME={}", home.display()),
        "USER=toolcrib".to_owned(),
        "LOGNAME=toolcrib".to_owned(),
        "SHELL=/bin/sh".to_owned(),
        "TERM=dumb".to_owned(),
        "NO_COLOR=1".to_owned(),
        "CI=1".to_owned(),
        "TMPDIR=/tmp".to_owned(),
        "PAGER=cat".to_owned(),
        "GIT_PAGER=cat".to_owned(),
        "GIT_EDITOR=true".to_owned(),
        // Git ignores folders that only look like a repository, and starts no file system monitor: the settings of
        // either could name programs.
        "GIT_CONFIG_COUNT=2".to_owned(),
        "GIT_CONFIG_KEY_0=safe.bareRepository".to_owned(),
        "GIT_CONFIG_VALUE_0=explicit".to_owned(),
        "GIT_CONFIG_KEY_1=core.fsmonitor".to_owned(),
        "GIT_CONFIG_VALUE_1=false".to_owned(),
        "EDITOR=true".to_owned(),
        "GIT_TERMINAL_PROMPT=0".to_owned(),
        "DEBIAN_FRONTEND=noninteractive".to_owned(),
    ];
    for entry in &operator.environment {
        let name = entry.split('=').next().unwrap_or_default();
        all.retain(|known| known.split('=').next() != Some(name));
        all.push(entry.clone());
    }
    all
}
