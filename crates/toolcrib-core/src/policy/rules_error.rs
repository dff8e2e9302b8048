//! Why the rules of a file cannot be used: a kind, a place, a sentence and a hint.

use std::fmt;

/// In which way a rules file is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulesErrorKind {
    /// The text is no TOML, or has a field that rules do not have.
    Syntax,
    /// A field has a value that it cannot have.
    BadField,
    /// The fields of a rule contradict each other.
    Contradiction,
    /// A rule does not do what its own examples say.
    Example,
    /// Two rules have the same name.
    Duplicate,
    /// The file has more than a project's file may have.
    TooLarge,
}

/// Why the rules of a file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulesError {
    /// In which way the file is wrong.
    pub kind: RulesErrorKind,
    /// The file, and the line of the rule if one is to blame.
    pub place: String,
    /// What is wrong.
    pub message: String,
    /// What to write instead, if that is known.
    pub hint: Option<String>,
    /// What else is wrong in the file.
    pub others: Vec<RulesError>,
}

impl RulesError {
    /// Returns the first of several errors, which has the others; nothing if there are none.
    pub(super) fn all(errors: Vec<Self>) -> Result<(), Self> {
        let mut errors = errors.into_iter();
        let Some(first) = errors.next() else { return Ok(()) };
        Err(Self { others: errors.collect(), ..first })
    }

    /// Returns every error, a line each.
    pub fn lines(&self) -> String {
        let all = std::iter::once(self).chain(&self.others).map(Self::to_string);
        all.collect::<Vec<_>>().join("\n")
    }
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)?;
        self.hint.iter().try_for_each(|hint| write!(f, ": {hint}"))
    }
}

impl std::error::Error for RulesError {}

/// What is wrong with one rule, wherever it is written.
pub(super) struct RuleFault {
    kind: RulesErrorKind,
    message: String,
    hint: Option<String>,
}

impl RuleFault {
    /// Returns a fault without a hint.
    pub(super) fn new(kind: RulesErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// Returns a fault of one field.
    pub(super) fn field(message: impl Into<String>) -> Self {
        Self::new(RulesErrorKind::BadField, message)
    }

    /// Adds what to write instead.
    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Says where the rule is written.
    pub(super) fn at(self, place: String) -> RulesError {
        RulesError {
            kind: self.kind,
            place,
            message: self.message,
            hint: self.hint,
            others: Vec::new(),
        }
    }
}
