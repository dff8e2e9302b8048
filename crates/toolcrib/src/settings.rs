//! Settings: where each may be set, what it may be, and where its value came from.

mod key;
mod kind;
mod layer;
mod load;
mod sandbox_key;

pub use key::keys;
pub use kind::{Key, Kind, Project};
pub use layer::{Origin, SettingsError};
pub(crate) use load::read_trusted;
pub use load::{Overrides, Places, Settings};
