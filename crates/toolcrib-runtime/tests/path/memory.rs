//! A record in memory.

use std::sync::Mutex;

use toolcrib_core::{Durability, Event, Moment, Note, RecordError, RecordErrorKind, Recorder};

/// Remembers what was recorded, or fails to.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) lines: Mutex<Vec<String>>,
    pub(crate) is_full: bool,
}

impl Recorder for Memory {
    fn flush(&self) {}

    fn note(&self, _: &Note<'_>) -> Result<(), RecordError> {
        Ok(())
    }

    fn record(&self, event: &Event<'_>, durability: Durability) -> Result<(), RecordError> {
        if self.is_full {
            return Err(RecordError::new(RecordErrorKind::Unwritten, "disk full"));
        }
        let line = match &event.moment {
            Moment::Asked { .. } => format!("{} asked in {}", event.tool, event.session),
            Moment::Decided { verdict, by, .. } => {
                format!("decided {verdict} by {}", by.unwrap_or("policy"))
            }
            Moment::Waits { .. } => "waits".to_owned(),
            Moment::Started { .. } => format!("started, {durability:?}"),
            Moment::TaskEnded { .. } => "task ended".to_owned(),
            Moment::Ended { error, .. } => {
                format!("ended {}", error.map_or("ok", |(kind, _)| kind.as_str()))
            }
        };
        self.lines.lock().unwrap().push(line);
        Ok(())
    }
}
