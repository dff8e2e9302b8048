//! The numbers of the descriptors that the first process inside is started with.

/// The control connection.
pub(crate) const CONTROL: i32 = 3;
/// The options of bubblewrap, which bubblewrap reads and closes.
pub(crate) const OPTIONS: i32 = 4;
/// The file of this program.
pub(crate) const PROGRAM: i32 = 5;
