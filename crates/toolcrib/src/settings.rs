//! Settings: which there are, who may set them, and where each value came from.

mod change;
mod edit;
mod error;
mod file_edit;
mod layer;
mod list_edit;
mod load;
mod locked_file;
mod log_words;
mod mcp_words;
mod policy_words;
mod quantity;
mod schemas;
mod setting;
pub mod table;
mod tighten;
mod trusted;
mod user_file;

pub use change::ChangedSetting;
pub(crate) use edit::{set_value, unset_value};
pub use error::{SettingsError, SettingsErrorKind};
pub(crate) use file_edit::FileEdit;
pub use layer::Origin;
pub(crate) use load::project_settings;
pub use load::{FlagValue, ProjectTexts, Settings, SettingsFiles};
pub(crate) use locked_file::LockedFile;
pub use log_words::{LogFormat, LogLevel};
pub use mcp_words::ClientAnswers;
pub use policy_words::AskStyle;
pub(crate) use quantity::Unit;
pub use schemas::SchemaTable;
pub use setting::{EmptyList, Project, Setting, SettingDefault, SettingKey, SettingKind};
pub(crate) use trusted::read_trusted;
pub(crate) use user_file::{SetValue, check_file, checked_value, set_in_file, unset_in_file};
