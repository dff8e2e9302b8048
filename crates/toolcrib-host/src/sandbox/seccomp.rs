//! Seccomp: the calls to the kernel that no developer's command needs and an attacker would like.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter, sock_filter,
};

/// Calls that fail whatever is asked of them.
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
    // Memory that belongs to no process, so that nobody could count it.
    libc::SYS_shmget,
    libc::SYS_semget,
    libc::SYS_msgget,
    libc::SYS_mq_open,
    libc::SYS_memfd_secret,
    467, // open_tree_attr
];

/// Calls that are answered as by a kernel that does not have them: programs then use older ones, whose
/// arguments can be looked at or whose effects can be counted.
const UNKNOWN: [i64; 3] = [libc::SYS_clone3, libc::SYS_openat2, libc::SYS_memfd_create];

/// Where calls take the mode of a file: call, argument.
const MODES: &[(i64, u8)] = &[
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

/// Bits of a mode that let whoever runs a file be its owner or group.
const BECOMES_OWNER: [u64; 2] = [0o4000, 0o2000];

#[cfg(target_arch = "x86_64")]
const FORBIDDEN_HERE: &[i64] =
    &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_kexec_file_load, libc::SYS_modify_ldt];
#[cfg(not(target_arch = "x86_64"))]
const FORBIDDEN_HERE: &[i64] = &[];

/// Every kind of namespace that a new process could be given.
const NEW_NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// A terminal's calls that type for the user, or reach its console.
const TYPES_FOR_USER: [u64; 2] = [0x5412, 0x541c];

/// Lays the filters on this process and everything it will start.
pub(crate) fn restrict() -> Result<(), String> {
    for program in programs()? {
        apply_filter(&program).map_err(|err| err.to_string())?;
    }
    Ok(())
}

fn programs() -> Result<Vec<BpfProgram>, String> {
    let refuse = |errno: i32| SeccompAction::Errno(errno.cast_unsigned());
    let compile = |rules, action| -> Result<BpfProgram, String> {
        let arch = std::env::consts::ARCH.try_into().map_err(text)?;
        SeccompFilter::new(rules, SeccompAction::Allow, action, arch)
            .and_then(TryInto::try_into)
            .map_err(text)
    };
    let unknown = UNKNOWN.map(|call| (call, Vec::new())).into();
    // Space that is set aside and not written would grow the workspace unseen.
    let unsupported = BTreeMap::from([(libc::SYS_fallocate, Vec::new())]);
    let mut programs = vec![
        compile(rules()?, refuse(libc::EPERM))?,
        compile(unknown, refuse(libc::ENOSYS))?,
        compile(unsupported, refuse(libc::EOPNOTSUPP))?,
    ];
    if cfg!(target_arch = "x86_64") {
        programs.push(other_numbering());
    }
    Ok(programs)
}

fn rules() -> Result<BTreeMap<i64, Vec<SeccompRule>>, String> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        FORBIDDEN.iter().chain(FORBIDDEN_HERE).map(|call| (*call, Vec::new())).collect();
    let family = |op, family: i32| when(0, op, u64::from(family.cast_unsigned()));
    let different = SeccompCmpOp::Ne;
    let multipath = when(2, SeccompCmpOp::Eq, 262)?;
    rules.insert(
        libc::SYS_socket,
        vec![
            // Internet sockets go nowhere but the way out; every other family is a way around it.
            SeccompRule::new(vec![
                family(different.clone(), libc::AF_INET)?,
                family(different.clone(), libc::AF_INET6)?,
            ])
            .map_err(text)?,
            SeccompRule::new(vec![multipath]).map_err(text)?,
        ],
    );
    let pair = SeccompRule::new(vec![family(different, libc::AF_UNIX)?]).map_err(text)?;
    rules.insert(libc::SYS_socketpair, vec![pair]);
    let mut clones = Vec::new();
    for flag in NEW_NAMESPACES {
        let flag = u64::from(flag.cast_unsigned());
        let condition = when(0, SeccompCmpOp::MaskedEq(flag), flag)?;
        clones.push(SeccompRule::new(vec![condition]).map_err(text)?);
    }
    rules.insert(libc::SYS_clone, clones);
    let mut ioctls = Vec::new();
    for request in TYPES_FOR_USER {
        let condition = when(1, SeccompCmpOp::Eq, request)?;
        ioctls.push(SeccompRule::new(vec![condition]).map_err(text)?);
    }
    rules.insert(libc::SYS_ioctl, ioctls);
    // The first process is not theirs to set limits for.
    let first = when(0, SeccompCmpOp::Eq, 1)?;
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![first]).map_err(text)?]);
    for (call, argument) in MODES {
        let mut modes = Vec::new();
        for bit in BECOMES_OWNER {
            let condition = when(*argument, SeccompCmpOp::MaskedEq(bit), bit)?;
            modes.push(SeccompRule::new(vec![condition]).map_err(text)?);
        }
        rules.insert(*call, modes);
    }
    Ok(rules)
}

/// A condition on the lower half of an argument, which is all the kernel looks at.
fn when(argument: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompCondition, String> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value).map_err(text)
}

/// Kills whoever uses the x32 numbering of calls, which would walk around the numbers above.
fn other_numbering() -> BpfProgram {
    const LOAD: u16 = 0x20;
    const JUMP_IF_SET: u16 = 0x45;
    const RETURN: u16 = 0x06;
    const X32_BIT: u32 = 0x4000_0000;
    const KILL_PROCESS: u32 = 0x8000_0000;
    const ALLOW: u32 = 0x7fff_0000;
    let line = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        line(LOAD, 0, 0, 0),
        line(JUMP_IF_SET, 0, 1, X32_BIT),
        line(RETURN, 0, 0, KILL_PROCESS),
        line(RETURN, 0, 0, ALLOW),
    ]
}

fn text(err: impl std::fmt::Display) -> String {
    err.to_string()
}
