//! Server-sent events, read line by line.

use std::time::Duration;

/// The most bytes of one event.
const MOST_EVENT_BYTES: usize = 8 << 20;

/// An event that a server sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::command) struct ServerEvent {
    /// Its number, if it has one.
    pub(in crate::command) id: Option<u64>,
    pub(in crate::command) data: String,
}

/// Puts events together from the lines of a stream.
#[derive(Default)]
pub(in crate::command) struct EventParser {
    open: ServerEvent,
    /// How long a reader waits before it connects again, if the server has said so.
    pub(in crate::command) retry: Option<Duration>,
}

impl EventParser {
    /// Takes a line. Returns the event that it ends.
    pub(in crate::command) fn take(&mut self, line: &[u8]) -> Option<ServerEvent> {
        let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
        if line.is_empty() {
            let event = std::mem::take(&mut self.open);
            return (event != ServerEvent::default()).then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.open.id = value.parse().ok(),
            "data" if self.open.data.len() + value.len() < MOST_EVENT_BYTES => {
                if !self.open.data.is_empty() {
                    self.open.data.push('\n');
                }
                self.open.data.push_str(value);
            }
            "retry" => self.retry = value.parse().ok().map(Duration::from_millis),
            // Names of events are in the data too; what else there is, is for other readers.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_end_at_empty_lines() {
        let mut parser = EventParser::default();
        let mut read = |text: &str| -> Vec<ServerEvent> {
            text.split('\n').filter_map(|line| parser.take(line.as_bytes())).collect()
        };
        let event = |id, data: &str| ServerEvent { id, data: data.to_owned() };
        assert_eq!(read("retry: 2000\n\n: alive\n\n"), []);
        assert_eq!(read("id: 7\nevent: call.ended\ndata: {}\n\n"), [event(Some(7), "{}")]);
        assert_eq!(read("id:8\r\ndata:a\r\ndata: b\r\n\r\n"), [event(Some(8), "a\nb")]);
        // An id holds for its own event alone, and one that is no number counts as none.
        assert_eq!(read("data: x\n\nid: y\ndata: z\n\n"), [event(None, "x"), event(None, "z")]);
        assert_eq!(read("nonsense\ndata"), []);
        assert_eq!(parser.retry, Some(Duration::from_secs(2)));
    }
}
