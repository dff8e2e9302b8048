//! A client of NATS that speaks the protocol by hand, so that it can send what no library sends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A message as it went over the bus.
#[derive(Clone, Debug)]
pub(crate) struct RawMessage {
    pub(crate) subject: String,
    pub(crate) reply: String,
    /// The headers, with the line that they begin with; empty without any.
    pub(crate) headers: String,
    pub(crate) body: String,
}

impl RawMessage {
    /// Returns the last word of the subject.
    pub(crate) fn verb(&self) -> &str {
        self.subject.rsplit('.').next().unwrap()
    }
}

/// A connection to a NATS server.
pub(crate) struct RawNats {
    input: BufReader<TcpStream>,
    output: TcpStream,
    subscriptions: u32,
}

impl RawNats {
    /// Connects to a server that asks for no user.
    pub(crate) fn connect(url: &str) -> Self {
        let output = TcpStream::connect(url.strip_prefix("nats://").unwrap()).unwrap();
        output.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let input = BufReader::new(output.try_clone().unwrap());
        let mut client = Self { input, output, subscriptions: 0 };
        client.write(
            "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true}\r\n",
        );
        client.settle();
        client
    }

    fn write(&mut self, text: &str) {
        self.output.write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn subscribe(&mut self, subject: &str) {
        self.subscriptions += 1;
        self.write(&format!("SUB {subject} {}\r\n", self.subscriptions));
        self.settle();
    }

    pub(crate) fn publish(&mut self, message: &RawMessage) {
        let RawMessage { subject, reply, headers, body } = message;
        let (head, all) = (headers.len(), headers.len() + body.len());
        if headers.is_empty() {
            self.write(&format!("PUB {subject} {reply} {all}\r\n{body}\r\n"));
        } else {
            self.write(&format!("HPUB {subject} {reply} {head} {all}\r\n{headers}{body}\r\n"));
        }
    }

    /// Waits until the server has taken what was sent. Messages that come meanwhile are lost.
    fn settle(&mut self) {
        self.write("PING\r\n");
        while self.line() != "PONG" {}
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert_ne!(self.input.read_line(&mut line).unwrap(), 0, "the NATS server closed");
        if line.starts_with("PING") {
            self.write("PONG\r\n");
        }
        line.trim_end().to_owned()
    }

    /// Returns the next message.
    pub(crate) fn next(&mut self) -> RawMessage {
        loop {
            let line = self.line();
            let words: Vec<&str> = line.split(' ').collect();
            let (reply, head, all) = match words[..] {
                ["MSG", _, _, all] => ("", "0", all),
                ["MSG", _, _, reply, all] => (reply, "0", all),
                ["HMSG", _, _, head, all] => ("", head, all),
                ["HMSG", _, _, reply, head, all] => (reply, head, all),
                _ => continue,
            };
            let (head, all): (usize, usize) = (head.parse().unwrap(), all.parse().unwrap());
            let mut bytes = vec![0; all + 2];
            self.input.read_exact(&mut bytes).unwrap();
            let text = String::from_utf8(bytes).unwrap();
            return RawMessage {
                subject: words[1].to_owned(),
                reply: reply.to_owned(),
                headers: text[..head].to_owned(),
                body: text[head..all].to_owned(),
            };
        }
    }

    /// Sends a message and returns the body of the reply.
    pub(crate) fn ask(&mut self, message: &RawMessage) -> String {
        self.subscribe(&message.reply);
        self.publish(message);
        self.next().body
    }
}
