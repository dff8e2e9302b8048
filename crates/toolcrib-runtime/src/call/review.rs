//! What an approver asks of an agent and of a person.

/// How an agent confirms a call that rules want confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfirmationSource {
    /// It repeats a call that it was told to confirm, in the same session.
    WhenTold,
    /// The call itself says so: there is no session to be told in.
    InTheCall,
    /// It need not: a person made the call and sees it.
    NotNeeded,
}

/// What the one who answers looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Review {
    /// The files as they are now: they are pinned until the call runs.
    Files,
    /// What was pinned when the call was parked: it is compared with what is there now.
    Parked,
    /// Nothing: the answer was given beforehand.
    Nothing,
}

/// Whether calls belong to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionKind {
    /// One call alone.
    SingleCall,
    /// Many calls, which an agent can repeat.
    ManyCalls,
}
