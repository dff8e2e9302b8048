//! Seccomp: the system calls that no developer's command needs and an attacker would like.

use std::collections::BTreeMap;

use crate::bpf::{Check, FilterProgram, SyscallRule};
use crate::system;
use std::io;

/// Calls that always fail.
const FORBIDDEN: &[i64] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // A second way to make every other call.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    // The kernel itself.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_settimeofday,
    libc::SYS_adjtimex,
    libc::SYS_fanotify_init,
    // Keys, and files by number.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // Memory that belongs to no process, so that it could not be counted.
    libc::SYS_shmget,
    libc::SYS_semget,
    libc::SYS_msgget,
    libc::SYS_mq_open,
    libc::SYS_memfd_secret,
    467, // open_tree_attr
];

/// Calls that fail as on a kernel without them. Programs then use older calls, whose arguments can be checked or
/// whose effects can be counted.
const NOT_IMPLEMENTED: [i64; 3] = [libc::SYS_clone3, libc::SYS_openat2, libc::SYS_memfd_create];

/// Calls that take the mode of a file: call, argument.
const CALLS_WITH_MODE: &[(i64, u32)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
    (libc::SYS_openat, 3),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
];

/// The set-user and set-group bits of a mode.
const SET_ID_BITS: u32 = 0o6000;

#[cfg(target_arch = "x86_64")]
const FORBIDDEN_HERE: &[i64] =
    &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_kexec_file_load, libc::SYS_modify_ldt];
#[cfg(not(target_arch = "x86_64"))]
const FORBIDDEN_HERE: &[i64] = &[];

/// Every kind of namespace that a new process could get.
const NEW_NAMESPACES: i32 = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

/// Terminal ioctls that type for the user or reach the console, and file system ioctls that reserve space.
const FORBIDDEN_IOCTLS: &[u32] = &[
    0x5412,      // TIOCSTI
    0x541c,      // TIOCLINUX
    0x4030_5828, // FS_IOC_RESVSP
    0x4030_582a, // FS_IOC_RESVSP64
    0x4030_5839, // FS_IOC_ZERO_RANGE
];

/// Internet sockets reach nothing but the proxy. Every other family would bypass it.
const ALLOWED_FAMILIES: &[u32] = &[libc::AF_INET.cast_unsigned(), libc::AF_INET6.cast_unsigned()];
const ALLOWED_PAIR_FAMILIES: &[u32] = &[libc::AF_UNIX.cast_unsigned()];

/// Protocols of internet sockets that are not the ones that Landlock and the proxy know: multipath TCP and SMC.
const FORBIDDEN_PROTOCOLS: &[u32] = &[262, 256];

/// The types of a socket pair whose ends stay connected to each other for ever. A datagram socket of a pair (to the
/// kernel, a raw one is the same) can send to any socket that has a path, also to one of a program outside.
const ALLOWED_PAIR_TYPES: &[u32] = &[
    STREAM,
    STREAM | CLOSE_ON_EXEC,
    STREAM | NON_BLOCKING,
    STREAM | CLOSE_ON_EXEC | NON_BLOCKING,
    PACKETS,
    PACKETS | CLOSE_ON_EXEC,
    PACKETS | NON_BLOCKING,
    PACKETS | CLOSE_ON_EXEC | NON_BLOCKING,
];
const STREAM: u32 = libc::SOCK_STREAM.cast_unsigned();
const PACKETS: u32 = libc::SOCK_SEQPACKET.cast_unsigned();
const CLOSE_ON_EXEC: u32 = libc::SOCK_CLOEXEC.cast_unsigned();
const NON_BLOCKING: u32 = libc::SOCK_NONBLOCK.cast_unsigned();

/// Commands may neither set limits for the first process nor slow it down, because it ends all others.
const FIRST_PROCESS: &[u32] = &[1];
const CALLS_ON_A_PROCESS: &[i64] = &[
    libc::SYS_prlimit64,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
];

/// The values by which `setpriority` and `ioprio_set` mean all processes of a user.
const OF_USER: (&[u32], &[u32]) = (&[2], &[3]);

/// Whether a command chooses the processor cores that it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CoreChoice {
    /// It does.
    Free,
    /// It uses the cores that it was given.
    Fixed,
}

/// Applies the filter to this process and to everything it will start.
pub(crate) fn restrict(cores: CoreChoice) -> io::Result<()> {
    let mut program = FilterProgram::of(&rules(cores)).0;
    system::filter_calls(&mut program)
}

/// Returns the rule of each call that is not simply allowed.
fn rules(cores: CoreChoice) -> BTreeMap<u32, SyscallRule> {
    let always = vec![Check::Always];
    let mut rules = BTreeMap::new();
    let mut add = |call: i64, errno: i32, checks: Vec<Check>| {
        if let Ok(call) = u32::try_from(call) {
            rules.insert(call, SyscallRule { checks, errno });
        }
    };
    for call in FORBIDDEN.iter().chain(FORBIDDEN_HERE) {
        add(*call, libc::EPERM, always.clone());
    }
    for call in NOT_IMPLEMENTED {
        add(call, libc::ENOSYS, always.clone());
    }
    // Space that is reserved and not written would grow the workspace unseen.
    add(libc::SYS_fallocate, libc::EOPNOTSUPP, always);
    let sockets = vec![Check::NoneOf(0, ALLOWED_FAMILIES), Check::OneOf(2, FORBIDDEN_PROTOCOLS)];
    add(libc::SYS_socket, libc::EPERM, sockets);
    let pairs = vec![Check::NoneOf(0, ALLOWED_PAIR_FAMILIES), Check::NoneOf(1, ALLOWED_PAIR_TYPES)];
    add(libc::SYS_socketpair, libc::EPERM, pairs);
    let namespaces = vec![Check::AnyBit(0, NEW_NAMESPACES.cast_unsigned())];
    add(libc::SYS_clone, libc::EPERM, namespaces);
    add(libc::SYS_ioctl, libc::EPERM, vec![Check::OneOf(1, FORBIDDEN_IOCTLS)]);
    for call in CALLS_ON_A_PROCESS {
        add(*call, libc::EPERM, vec![Check::OneOf(0, FIRST_PROCESS)]);
    }
    if cores == CoreChoice::Fixed {
        add(libc::SYS_sched_setaffinity, libc::EPERM, vec![Check::Always]);
    }
    let (of_user, io_of_user) = OF_USER;
    let of_first = Check::OneOf(1, FIRST_PROCESS);
    add(libc::SYS_setpriority, libc::EPERM, vec![Check::OneOf(0, of_user), of_first.clone()]);
    add(libc::SYS_ioprio_set, libc::EPERM, vec![Check::OneOf(0, io_of_user), of_first]);
    for (call, argument) in CALLS_WITH_MODE {
        add(*call, libc::EPERM, vec![Check::AnyBit(*argument, SET_ID_BITS)]);
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOWED: u32 = 0x7fff_0000;
    const KILLED: u32 = 0x8000_0000;

    #[test]
    fn the_filter_does_what_the_rules_say() {
        let rules = rules(CoreChoice::Free);
        let program = FilterProgram::of(&rules);
        let refused = |errno: i32| 0x0005_0000 | errno.cast_unsigned();
        let run = |call: i64, arguments: [u32; 6]| {
            program.run(FilterProgram::ARCH, u32::try_from(call).unwrap(), arguments)
        };
        for call in 0..1000_i64 {
            let expect = if FORBIDDEN.iter().chain(FORBIDDEN_HERE).any(|it| *it == call) {
                refused(libc::EPERM)
            } else if NOT_IMPLEMENTED.contains(&call) {
                refused(libc::ENOSYS)
            } else if call == libc::SYS_fallocate {
                refused(libc::EOPNOTSUPP)
            } else {
                ALLOWED
            };
            let has_checks = |rule: &SyscallRule| !matches!(rule.checks[..], [Check::Always]);
            if !rules.get(&u32::try_from(call).unwrap()).is_some_and(has_checks) {
                assert_eq!(run(call, [u32::MAX; 6]), expect, "{call}");
            }
        }
        let eperm = refused(libc::EPERM);
        for (call, arguments, expect) in [
            (libc::SYS_socket, [2, 1, 0, 0, 0, 0], ALLOWED),
            (libc::SYS_socket, [10, 1, 6, 0, 0, 0], ALLOWED),
            (libc::SYS_socket, [1, 1, 0, 0, 0, 0], eperm),
            (libc::SYS_socket, [16, 3, 0, 0, 0, 0], eperm),
            (libc::SYS_socket, [2, 1, 262, 0, 0, 0], eperm),
            (libc::SYS_socketpair, [1, 1, 0, 0, 0, 0], ALLOWED),
            (libc::SYS_socket, [2, 1, 256, 0, 0, 0], eperm),
            (libc::SYS_socketpair, [2, 1, 0, 0, 0, 0], eperm),
            (libc::SYS_socketpair, [1, 5, 0, 0, 0, 0], ALLOWED),
            (libc::SYS_socketpair, [1, 0x80001, 0, 0, 0, 0], ALLOWED),
            (libc::SYS_socketpair, [1, 0x80801, 0, 0, 0, 0], ALLOWED),
            (libc::SYS_socketpair, [1, 0x80805, 0, 0, 0, 0], ALLOWED),
            (libc::SYS_socketpair, [1, 2, 0, 0, 0, 0], eperm),
            (libc::SYS_socketpair, [1, 0x80002, 0, 0, 0, 0], eperm),
            (libc::SYS_socketpair, [1, 0x80802, 0, 0, 0, 0], eperm),
            (libc::SYS_socketpair, [1, 3, 0, 0, 0, 0], eperm),
            (libc::SYS_socketpair, [1, 0x803, 0, 0, 0, 0], eperm),
            (libc::SYS_clone, [0x0001_2000, 0, 0, 0, 0, 0], ALLOWED),
            (libc::SYS_clone, [0x1001_2000, 0, 0, 0, 0, 0], eperm),
            (libc::SYS_ioctl, [0, 0x5401, 0, 0, 0, 0], ALLOWED),
            (libc::SYS_ioctl, [0, 0x5412, 0, 0, 0, 0], eperm),
            (libc::SYS_prlimit64, [0, 7, 0, 0, 0, 0], ALLOWED),
            (libc::SYS_prlimit64, [1, 7, 0, 0, 0, 0], eperm),
            (libc::SYS_ioctl, [0, 0x4030_5828, 0, 0, 0, 0], eperm),
            (libc::SYS_sched_setscheduler, [1, 5, 0, 0, 0, 0], eperm),
            (libc::SYS_sched_setscheduler, [0, 5, 0, 0, 0, 0], ALLOWED),
            (libc::SYS_setpriority, [0, 0, 10, 0, 0, 0], ALLOWED),
            (libc::SYS_setpriority, [0, 1, 10, 0, 0, 0], eperm),
            (libc::SYS_setpriority, [2, 0, 10, 0, 0, 0], eperm),
            (libc::SYS_ioprio_set, [3, 0, 0, 0, 0, 0], eperm),
            (libc::SYS_fchmod, [0, 0o755, 0, 0, 0, 0], ALLOWED),
            (libc::SYS_fchmod, [0, 0o2755, 0, 0, 0, 0], eperm),
            (libc::SYS_openat, [0, 0, 0, 0o4700, 0, 0], eperm),
        ] {
            assert_eq!(run(call, arguments), expect, "{call} {arguments:?}");
        }
        let affinity = u32::try_from(libc::SYS_sched_setaffinity).unwrap();
        assert_eq!(run(libc::SYS_sched_setaffinity, [0; 6]), ALLOWED);
        let fixed = FilterProgram::of(&super::rules(CoreChoice::Fixed));
        assert_eq!(fixed.run(FilterProgram::ARCH, affinity, [0; 6]), eperm);
        let read = u32::try_from(libc::SYS_read).unwrap();
        assert_eq!(program.run(FilterProgram::ARCH, read | 0x4000_0000, [0; 6]), KILLED);
        assert_eq!(program.run(0x4000_0003, read, [0; 6]), KILLED, "another architecture");
    }
}
