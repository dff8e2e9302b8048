//! Settings: which there are, who may set them, and where each value came from.

mod error;
mod layer;
mod load;
mod schemas;
mod setting;
pub mod table;
mod tighten;
mod trusted;

pub use error::{SettingsError, SettingsErrorKind};
pub use layer::Origin;
pub use load::{FlagValue, Settings, SettingsFiles};
pub use schemas::SchemaTable;
pub use setting::{EmptyList, Project, Setting, SettingDefault, SettingKey, SettingKind};
pub(crate) use trusted::read_trusted;
