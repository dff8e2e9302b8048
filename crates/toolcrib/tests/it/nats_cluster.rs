//! A gateway, a real NATS server, and workers.

use serde_json::{Value, json};

use crate::nats_bus::NatsBus;
use crate::running_server::{RunningServer, wait_until};
use crate::running_worker::RunningWorker;
use crate::scratch::Scratch;

/// A rule that lets every command of `clemini/bash` run, so that tests of faults need nobody to approve.
pub(crate) const FREE_COMMANDS: &str =
    "[[rule]]\nid = \"free\"\ntool = \"clemini/bash\"\neffect = \"allow\"\n";

/// A gateway whose tools of `clemini` and whose calculator run on workers.
pub(crate) struct Cluster<'a> {
    /// The machine of the worker.
    pub(crate) there: &'a Scratch,
    pub(crate) bus: NatsBus<'a>,
    pub(crate) gateway: RunningServer<'a>,
    pub(crate) key: String,
}

impl<'a> Cluster<'a> {
    pub(crate) fn start(here: &'a Scratch, there: &'a Scratch) -> Self {
        Self::start_with(here, there, &[])
    }

    pub(crate) fn start_with(here: &'a Scratch, there: &'a Scratch, words: &[&str]) -> Self {
        let bus = NatsBus::start(here);
        let key = here.run(["nats", "key"]);
        assert_eq!(key.code, 0, "{}", key.stderr);
        let url = format!("nats.url={}", bus.url());
        let places = "nats.places=clemini=app,nachos/calculator=app";
        let words = [&["-c", &url, "-c", places][..], words].concat();
        let gateway = RunningServer::start_with(here, &words);
        Self { there, bus, gateway, key: key.stdout.trim().to_owned() }
    }

    pub(crate) fn worker(&self, words: &[&str]) -> RunningWorker {
        let worker = RunningWorker::start(self.there, &self.bus.url(), &self.key, words);
        self.await_calls();
        worker
    }

    /// Waits until a call reaches a worker: the gateway has to be connected for that.
    pub(crate) fn await_calls(&self) {
        wait_until(|| self.call("nachos/calculator", json!({"expression": "1 + 1"})).0 == 200);
    }

    /// Makes a call as the agent.
    pub(crate) fn call(&self, tool: &str, args: Value) -> (u16, Value) {
        self.gateway.execute(&self.gateway.token("agent"), tool, args)
    }

    /// Makes a call that somebody approves.
    pub(crate) fn call_approved(&self, tool: &str, args: Value) -> Value {
        let (_, asked) = self.call(tool, args);
        let id = asked["approval"]["id"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned();
        self.approve(&id);
        self.outcome(&id)
    }

    pub(crate) fn approve(&self, id: &str) {
        let (path, body) = (format!("/api/approvals/{id}"), json!({"decision": "approve"}));
        let (status, reply) = self.gateway.post(&self.gateway.token("approver"), &path, &body);
        assert_eq!(status, 200, "{reply}");
    }

    /// Waits for what came of a call that was approved.
    pub(crate) fn outcome(&self, id: &str) -> Value {
        let mut last = Value::Null;
        wait_until(|| {
            let path = format!("/api/calls/{id}");
            last = self.gateway.get(&self.gateway.token("agent"), &path).1;
            last["status"] != "pending"
                && last["status"] != "running"
                && last["status"] != "approved"
        });
        last
    }

    /// Makes a call in the background.
    pub(crate) fn begin(
        &self,
        tool: &'static str,
        args: Value,
    ) -> std::thread::JoinHandle<(u16, Value)> {
        let request = self.gateway.request(
            &self.gateway.token("agent"),
            "POST",
            &format!("/api/tools/execute/{tool}"),
            "",
            &json!({ "args": args }).to_string(),
        );
        let address = self.gateway.address.clone();
        std::thread::spawn(move || {
            use std::io::{Read, Write};
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut reply = String::new();
            stream.read_to_string(&mut reply).unwrap();
            let (head, body) = reply.split_once("\r\n\r\n").unwrap();
            let status = head.split(' ').nth(1).unwrap().parse().unwrap();
            (status, serde_json::from_str(body).unwrap())
        })
    }
}
