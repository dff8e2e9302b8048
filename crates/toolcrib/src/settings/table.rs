//! The table of settings. A row is the typed key of a setting: its constant, the type that reading it
//! returns, its name, its default and what it may be. The doc comment is the description that people
//! read. Files, environment, `config show` and the reference are all made from this table.

use super::bus_table::BUS;
use super::general_table::GENERAL;
use super::sandbox_table::SANDBOX;
use super::setting::Setting;

pub use super::bus_table::*;
pub use super::general_table::*;
pub use super::sandbox_table::*;

/// Returns every setting, in the order of the table.
pub fn settings() -> impl Iterator<Item = &'static Setting> {
    GENERAL.iter().chain(BUS).chain(SANDBOX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_described_and_knows_its_position() {
        for (position, setting) in settings().enumerate() {
            assert!(setting.about().ends_with('.'), "{}", setting.name);
            assert_eq!(setting.position, position, "{}", setting.name);
        }
    }
}
