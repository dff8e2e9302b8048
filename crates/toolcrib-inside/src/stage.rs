//! Staging: everything that commands may reach is mounted in one place, in a mount namespace of the launcher's own,
//! and shielded there for each command. All mounts are made by handles: whoever may write can exchange names
//! between a check and a mount, and cannot exchange handles.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_change, move_mount, open_tree, unmount,
};
use rustix::process::Signal;

use crate::failure::StartFailure;
use crate::shield::{Shield, ShieldKind};
use crate::system::{self, Forked, MountAttributes};
use crate::wire::{Launch, Nested, Setup, Staged, StartStep, User};

/// The folder of the staged mounts. Only the launcher and the processes it starts see it.
const STAGE_FOLDER: &str = "/tmp";

/// What is mounted over folders and files that commands may not read: an empty folder and an empty file without any
/// permission, beside the staged mounts.
const MASK_FOLDER: &str = "/tmp/mask-folder";
const MASK_FILE: &str = "/tmp/mask-file";

/// Returns the path of the staged mount with this number.
pub fn place(number: usize) -> PathBuf {
    Path::new(STAGE_FOLDER).join(number.to_string())
}

/// The mechanism that is missing, and the message.
type MissingMechanism = (&'static str, String);

/// Stages everything. When we are the superuser, commands are not, and owners are mapped so that the files that a
/// command writes belong to the owner of the workspace.
pub(crate) fn stage(setup: &Setup) -> Result<(), MissingMechanism> {
    let namespace = |err: io::Error| ("mount namespace", err.to_string());
    if rustix::process::geteuid().is_root() {
        system::unshare(libc::CLONE_NEWNS).map_err(namespace)?;
    } else {
        own_users().map_err(|err| ("user namespaces", err.to_string()))?;
    }
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|errno| namespace(errno.into()))?;
    let mut contents = Vec::new();
    for staged in &setup.staged {
        if staged.is_copied {
            contents.push(StagedContent::Copied(files_of(staged).map_err(namespace)?));
            continue;
        }
        let clone = clone_of(staged).map_err(namespace)?;
        if let (Some(owner), Some(user)) = (staged.owner, setup.user) {
            let users =
                user_namespace(owner, user).map_err(|err| ("user namespaces", err.to_string()))?;
            system::map_owners(clone.as_fd(), users.as_fd())
                .map_err(|err| ("idmapped mount", err.to_string()))?;
        }
        contents.push(StagedContent::Mounted(clone));
    }
    detach_unused();
    attach(setup, &contents).map_err(namespace)
}

/// What is put in the place of a staged file or folder.
enum StagedContent {
    /// A mount of it.
    Mounted(OwnedFd),
    /// The files and folders of a folder. What contains others comes before them.
    Copied(Vec<CopiedEntry>),
}

/// A file or folder that is copied.
struct CopiedEntry {
    /// The path below the folder that is copied as a whole.
    path: PathBuf,
    /// The content and the mode of a file.
    file: Option<(Vec<u8>, u32)>,
}

/// Reads the files of a folder that is copied.
fn files_of(staged: &Staged) -> io::Result<Vec<CopiedEntry>> {
    let folder = Path::new(&staged.source);
    let mut entries = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        for entry in fs::read_dir(folder.join(&below))? {
            let entry = entry?;
            let (path, kind) = (below.join(entry.file_name()), entry.file_type()?);
            let file = if kind.is_file() {
                // A file that another process is just replacing has another name by now.
                match fs::read(entry.path()) {
                    Err(err) if err.kind() == io::ErrorKind::NotFound => continue,
                    content => Some((content?, entry.metadata()?.permissions().mode())),
                }
            } else if kind.is_dir() {
                open.push(path.clone());
                None
            } else {
                continue;
            };
            entries.push(CopiedEntry { path, file });
        }
    }
    Ok(entries)
}

/// Enters a user namespace of our own, in which we are the same user and may mount.
fn own_users() -> io::Result<()> {
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    system::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{0} {0} 1", uid.as_raw()))?;
    fs::write("/proc/self/gid_map", format!("{0} {0} 1", gid.as_raw()))
}

/// Returns a new mount of a staged file or folder, attached to nothing yet. Fails if it is not the one that was
/// opened when the sandbox was prepared.
fn clone_of(staged: &Staged) -> io::Result<OwnedFd> {
    let source = &staged.source;
    let failed = |err: io::Error| io::Error::new(err.kind(), format!("`{source}`: {err}"));
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let handle = rustix::fs::open(source.as_str(), flags, Mode::empty())
        .map_err(|errno| failed(errno.into()))?;
    if identity(handle.as_fd())? != staged.is {
        return Err(failed(io::Error::other("it was replaced meanwhile")));
    }
    let clone = clone_mount(handle.as_fd()).map_err(failed)?;
    // Bubblewrap does not mount again, by name, what has these attributes already.
    let attributes = MountAttributes::NO_SUID | MountAttributes::NO_DEVICES;
    system::set_mount(clone.as_fd(), attributes).map_err(failed)?;
    Ok(clone)
}

fn identity(handle: BorrowedFd<'_>) -> io::Result<(u64, u64)> {
    let meta = rustix::fs::fstat(handle)?;
    Ok((meta.st_dev, meta.st_ino))
}

/// Returns a new mount of what a handle stands for, with everything mounted below it.
fn clone_mount(handle: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    Ok(open_tree(handle, "", flags)?)
}

/// Detaches the mounts that no command sees, because bubblewrap reads the list of all mounts again and again.
/// Mounts that we may not detach stay.
fn detach_unused() {
    const USED: [&str; 9] =
        ["/proc", "/dev", "/usr", "/bin", "/sbin", "/lib", "/opt", "/nix", "/etc"];
    let Ok(list) = fs::read_to_string("/proc/self/mountinfo") else { return };
    let places = list.lines().filter_map(|line| line.split(' ').nth(4));
    for place in places.filter(|place| *place != "/") {
        let is_used = USED.iter().any(|used| place.starts_with(used)) && !is_below_dev(place);
        if !is_used {
            let _ = unmount(place, UnmountFlags::DETACH);
        }
    }
}

/// Whether a mount is below `/dev` or `/proc`: commands use only the folders themselves.
fn is_below_dev(place: &str) -> bool {
    place.starts_with("/dev/") || place.starts_with("/proc/")
}

fn attach(setup: &Setup, contents: &[StagedContent]) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", STAGE_FOLDER, "tmpfs", flags, Some(c"mode=0755,size=64m"))?;
    fs::DirBuilder::new().mode(0o000).create(MASK_FOLDER)?;
    fs::OpenOptions::new().write(true).create_new(true).mode(0o000).open(MASK_FILE)?;
    for (number, (staged, content)) in setup.staged.iter().zip(contents).enumerate() {
        let place = place(number);
        if staged.is_directory {
            make_folder(&place)?;
        } else {
            fs::File::create(&place)?;
        }
        match content {
            StagedContent::Mounted(clone) => {
                move_mount(clone, "", CWD, &place, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
            }
            StagedContent::Copied(entries) => {
                for entry in entries {
                    write_copy(&place, entry)?;
                }
            }
        }
    }
    Ok(())
}

/// Writes a copy that everyone can read, and execute if the owner of the original can.
fn write_copy(place: &Path, entry: &CopiedEntry) -> io::Result<()> {
    let path = place.join(&entry.path);
    match &entry.file {
        Some((content, mode)) => {
            fs::write(&path, content)?;
            let mode = if mode & 0o100 == 0 { 0o644 } else { 0o755 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode))
        }
        None => make_folder(&path),
    }
}

/// Makes a folder that everyone can read, because commands may run as any user.
fn make_folder(path: &Path) -> io::Result<()> {
    fs::create_dir(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// Mounts the shields below each staged root, for the one command that this process is about to become, and mounts
/// roots within roots.
pub(crate) fn shield(launch: &Launch) -> Result<(), StartFailure> {
    if launch.shields.iter().all(Vec::is_empty) && launch.nested.is_empty() {
        return Ok(());
    }
    let failed = |err: io::Error| StartFailure::new(StartStep::Shield, err.to_string());
    let failed_at = |path: &Path, err: io::Error| {
        StartFailure::new(StartStep::Shield, format!("`{}`: {err}", path.display()))
    };
    system::unshare(libc::CLONE_NEWNS).map_err(failed)?;
    for (number, shields) in launch.shields.iter().enumerate() {
        let root = staged_root(number).map_err(failed)?;
        for shield in shields {
            mount_shield(root.as_fd(), shield).map_err(|err| failed_at(&shield.path, err))?;
        }
    }
    for nested in &launch.nested {
        mount_within(nested).map_err(|err| failed_at(&nested.path, err))?;
    }
    Ok(())
}

fn staged_root(number: usize) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::DIRECTORY;
    Ok(rustix::fs::open(place(number), flags, Mode::empty())?)
}

/// Opens a path below a root without following links. Fails if device and inode are not the expected ones.
fn open_exactly(root: BorrowedFd<'_>, path: &Path, is: (u64, u64)) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let handle = rustix::fs::openat2(root, path, flags, Mode::empty(), resolve)?;
    if identity(handle.as_fd())? != is {
        return Err(io::Error::other("another file took its place"));
    }
    Ok(handle)
}

/// Mounts a root, with its shields, at its place within another root.
fn mount_within(nested: &Nested) -> io::Result<()> {
    let outer = staged_root(nested.outer)?;
    let handle = open_exactly(outer.as_fd(), &nested.path, nested.is)?;
    let clone = clone_mount(staged_root(nested.inner)?.as_fd())?;
    mount_on(&clone, &handle)
}

fn mount_on(clone: &OwnedFd, handle: &OwnedFd) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(clone, "", handle, "", flags)?)
}

/// Mounts a file or folder over itself, or a mask over it. Its identity was checked before, and is checked again
/// through the handle that is mounted on.
fn mount_shield(root: BorrowedFd<'_>, shield: &Shield) -> io::Result<()> {
    let handle = open_exactly(root, &shield.path, shield.is)?;
    let clone = match shield.kind {
        ShieldKind::InPlace | ShieldKind::ReadOnly => clone_mount(handle.as_fd())?,
        ShieldKind::Masked => clone_mount(mask_for(handle.as_fd())?.as_fd())?,
    };
    match shield.kind {
        ShieldKind::InPlace => {}
        // The owner of a mask could change its mode if it were not read-only.
        ShieldKind::ReadOnly | ShieldKind::Masked => {
            system::set_mount(clone.as_fd(), MountAttributes::READ_ONLY)?;
        }
    }
    mount_on(&clone, &handle)
}

/// Opens the mask that can be mounted over a file or folder.
fn mask_for(handle: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mode = rustix::fs::fstat(handle)?.st_mode;
    let mask = match FileType::from_raw_mode(mode) {
        FileType::Directory => MASK_FOLDER,
        _ => MASK_FILE,
    };
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(rustix::fs::open(mask, flags, Mode::empty())?)
}

/// Returns a user namespace in which the files that `owner` owns on disk belong to `user`, and no other files to
/// anyone.
fn user_namespace(owner: User, user: User) -> io::Result<OwnedFd> {
    let (wait, go) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let (ready, tell) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let pid = match system::fork()? {
        Forked::Child => {
            let failed = system::unshare(libc::CLONE_NEWUSER).err();
            let errno = failed.and_then(|err| err.raw_os_error()).unwrap_or(0);
            let _ = rustix::io::write(&tell, &errno.to_ne_bytes());
            drop(go);
            let _ = rustix::io::read(&wait, &mut [0; 1]);
            system::leave(0)
        }
        Forked::Parent(pid) => pid,
    };
    drop(tell);
    let made = (|| {
        wait_for(ready.as_fd())?;
        let folder = format!("/proc/{}", pid.as_raw_nonzero());
        fs::write(format!("{folder}/uid_map"), format!("{} {} 1", owner.uid, user.uid))?;
        fs::write(format!("{folder}/gid_map"), format!("{} {} 1", owner.gid, user.gid))?;
        fs::File::open(format!("{folder}/ns/user")).map(OwnedFd::from)
    })();
    drop((go, wait));
    let _ = rustix::process::kill_process(pid, Signal::KILL);
    let _ = system::take_child(pid);
    made
}

/// Waits for the child's error number, and fails if it is not zero.
fn wait_for(end: BorrowedFd<'_>) -> io::Result<()> {
    let mut errno = [0; 4];
    rustix::io::read(end, &mut errno)?;
    match i32::from_ne_bytes(errno) {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}
