//! Staging: when we are the superuser, commands are not. What they may reach is put where an ordinary
//! user can get at it, in a mount namespace of the launcher's own, with owners mapped so that what a
//! command writes belongs to the workspace's owner.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_change, move_mount, open_tree, unmount,
};
use rustix::process::Signal;

use super::system::{self, Forked};
use super::wire::{Setup, User};

/// Where the staged things are. Only the launcher and what it starts see this mount.
const PLACE: &str = "/tmp";

/// Returns where the thing with this number is.
pub(crate) fn place(number: usize) -> PathBuf {
    Path::new(PLACE).join(number.to_string())
}

/// A mechanism that is missing, and what was said.
type Missing = (&'static str, String);

/// Stages everything. Without a user to become there is nothing to do: paths
/// are used as they are.
pub(crate) fn stage(setup: &Setup, handles: &[OwnedFd]) -> Result<(), Missing> {
    let Some(user) = setup.user else { return Ok(()) };
    if handles.len() != setup.staged.len() {
        return Err(("launcher", "it was handed too few directories".to_owned()));
    }
    // Cloned where they still are: in the new namespace their mounts would be another's.
    let mut clones = Vec::new();
    let namespace = |err: io::Error| ("mount namespace", err.to_string());
    for (staged, handle) in setup.staged.iter().zip(handles) {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_EMPTY_PATH
            | OpenTreeFlags::AT_RECURSIVE;
        let clone = open_tree(handle, "", flags).map_err(|err| namespace(err.into()))?;
        if let Some(owner) = staged.owner {
            let users =
                user_namespace(owner, user).map_err(|err| ("user namespaces", err.to_string()))?;
            system::map_owners(clone.as_fd(), users.as_fd())
                .map_err(|err| ("idmapped mount", err.to_string()))?;
        }
        clones.push(clone);
    }
    own_mounts().map_err(namespace)?;
    attach(setup, &clones).map_err(namespace)
}

fn own_mounts() -> io::Result<()> {
    // The one thread there is gets the new namespace, and with it everything it starts.
    system::unshare(libc::CLONE_NEWNS)?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    leave_unused();
    Ok(())
}

/// Takes leave of mounts that no command is shown: bubblewrap reads the list of all of them again and
/// again.
fn leave_unused() {
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

/// Of the devices, only the folder itself is used.
fn is_below_dev(place: &str) -> bool {
    place.starts_with("/dev/") || place.starts_with("/proc/")
}

fn attach(setup: &Setup, clones: &[OwnedFd]) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", PLACE, "tmpfs", flags, Some(c"mode=0755,size=1m"))?;
    for (number, (staged, clone)) in setup.staged.iter().zip(clones).enumerate() {
        let place = place(number);
        if staged.is_directory {
            fs::create_dir(&place)?;
        } else {
            fs::File::create(&place)?;
        }
        move_mount(clone, "", CWD, &place, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    }
    Ok(())
}

/// Returns a user namespace in which what `owner` owns on disk belongs to `user`, and nothing else to
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

/// Waits for the word that all went well, or what went wrong.
fn wait_for(end: BorrowedFd<'_>) -> io::Result<()> {
    let mut errno = [0; 4];
    rustix::io::read(end, &mut errno)?;
    match i32::from_ne_bytes(errno) {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}
