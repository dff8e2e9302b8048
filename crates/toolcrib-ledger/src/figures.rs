//! The figures of every tool: folded from the record, kept in `SQLite`, compared with a baseline, and reported.

pub(crate) mod baseline;
pub(crate) mod database;
pub(crate) mod fold;
pub(crate) mod histogram;
pub(crate) mod message_shape;
pub(crate) mod quarantine;
pub(crate) mod regression;
pub mod report;
pub(crate) mod report_form;
pub(crate) mod rows;
pub(crate) mod stats;
pub(crate) mod stats_error;
pub(crate) mod tool_stats;
