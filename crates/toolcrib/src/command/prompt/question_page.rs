//! What a question on a screen is made of.

use toolcrib_runtime::Question;

use crate::command::screen::Screen;
use crate::terminal::Terminal;

/// The form in which questions are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QuestionForm {
    /// Toolcrib's own.
    Toolcrib,
    /// The one that the contract of the catalogue `wink` has.
    Wink,
}

/// A question on a screen.
pub(super) struct QuestionPage {
    pub(super) rows: Vec<String>,
    /// Whether everything that is asked about is on it.
    pub(super) is_whole: bool,
    /// Whether the grant that "always" makes is on it.
    pub(super) has_grant: bool,
}

/// What a page is made of.
pub(super) struct PageMaker<'q> {
    pub(super) question: &'q Question,
    pub(super) terminal: Terminal,
    pub(super) form: QuestionForm,
    pub(super) screen: Screen,
    /// How many seconds are left to answer.
    pub(super) seconds_left: u64,
    pub(super) change: ChangeOffer,
}

/// Whether the person can change the call before they approve it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeOffer {
    Offered,
    /// The call is another process's, which has asked about this one and no other.
    NotOffered,
}
