//! Kinds of file systems, by the magic numbers that the kernel reports.

/// The magic number of tmpfs.
pub const TMPFS: i64 = 0x0102_1994;

/// The magic number of overlayfs.
pub const OVERLAYFS: i64 = 0x794c_7630;

/// The file systems that only this kernel changes.
const LOCAL: [i64; 9] = [
    0xef53,      // ext2, ext3, ext4
    0x5846_5342, // xfs
    0x9123_683e, // btrfs
    TMPFS,
    OVERLAYFS,
    0xf2f5_2010, // f2fs
    0x2fc1_2fc1, // zfs
    0x8584_58f6, // ramfs
    0xca45_1a4e, // bcachefs
];

/// The file systems on which a synced file has the name that it was given before.
const NAME_SYNCING: [i64; 3] = [0xef53, 0x5846_5342, 0x9123_683e];

/// Whether a file that is synced keeps, after a power cut, the name that it was given before. On others, its folder has
/// to be synced too.
pub fn syncs_names(magic: i64) -> bool {
    NAME_SYNCING.contains(&magic)
}

/// Whether every change of a file system makes a file event. Others can be changed by another machine, or by a program
/// in between.
pub fn reports_changes(magic: i64) -> bool {
    LOCAL.contains(&magic)
}
