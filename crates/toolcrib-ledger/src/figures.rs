//! The figures of every tool: folded from the record, kept in `SQLite`, compared with a baseline, and reported.

pub(crate) mod activity;
pub(crate) mod activity_reading;
pub(crate) mod activity_rows;
pub(crate) mod baseline;
pub(crate) mod call_totals;
pub(crate) mod column;
pub(crate) mod database;
pub(crate) mod duration_sum;
pub(crate) mod fold;
pub(crate) mod fresh_activity;
pub(crate) mod histogram;
pub(crate) mod message_shape;
pub(crate) mod overview;
pub(crate) mod quarantine;
pub(crate) mod regression;
pub mod report;
pub(crate) mod report_form;
pub(crate) mod rounding;
pub(crate) mod rows;
pub(crate) mod stats;
pub(crate) mod stats_error;
pub(crate) mod time_window;
pub(crate) mod tool_history;
pub(crate) mod tool_series;
pub(crate) mod tool_stats;
