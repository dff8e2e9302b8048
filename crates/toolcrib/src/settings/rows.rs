//! The macro that turns rows into constants and a table, so that a setting is written down once.

/// Makes a constant of each row, and the table of these rows. `from` has the position of the first one.
macro_rules! settings_table {
    ($table:ident from $first:expr; $($(#[doc = $about:literal])+ $key:ident: $type:ty = $row:expr;)+) => {
        #[allow(
            non_camel_case_types,
            clippy::upper_case_acronyms,
            reason = "a position has the name of its key"
        )]
        enum Position { $($key),+ }

        $(
            $(#[doc = $about])+
            pub const $key: SettingKey<$type> =
                $row.at($first + Position::$key as usize, &[$($about),+]);
        )+

        pub(super) static $table: &[Setting] = &[$($key.setting),+];

        #[cfg(test)]
        #[test]
        fn every_constant_has_the_name_of_its_setting() {
            for (constant, setting) in [$(stringify!($key)),+].iter().zip($table) {
                assert_eq!(*constant, setting.name.to_uppercase().replace('.', "_"));
            }
        }
    };
}

pub(super) use settings_table;
