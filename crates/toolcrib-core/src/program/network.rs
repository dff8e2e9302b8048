//! Programs that reach other hosts. `curl` and `wget` have a file of their own.

use super::arguments::ValueFlags;
use super::input::RunsInput;
use super::row::{
    Caveat, CommandWords, Condition, Fact, FileEffectRules, FileWords, HostWords, Operands,
    Program, Runs, Shows, example,
};

pub(super) const ROWS: &[Program] = &[
    Program {
        hosts: HostWords::All,
        examples: &[
            example("ping x.example", Shows::Hosts(&["x.example"])),
            example("dig x.example", Shows::Plain),
        ],
        ..Program::named(&[
            "dig",
            "host",
            "http",
            "https",
            "lftp",
            "lynx",
            "nmap",
            "nslookup",
            "ping",
            "traceroute",
            "w3m",
            "whois",
            "xh",
        ])
    },
    Program {
        runs: Runs::Anything,
        hosts: HostWords::All,
        examples: &[
            example("nc x.example 80", Shows::Caveat),
            example("nc -l x.example", Shows::Hosts(&["x.example"])),
        ],
        ..Program::named(&["ftp", "nc", "ncat", "sftp", "telnet"])
    },
    Program {
        runs: Runs::Anything,
        examples: &[example("openssl rand -out o.bin 4", Shows::Caveat)],
        ..Program::named(&["openssl", "socat"])
    },
    Program {
        runs: Runs::Anything,
        commands: &[CommandWords::Rest { own: 1 }, CommandWords::Each],
        // Without a command, a shell on the other machine reads the input.
        runs_input: RunsInput::UnlessOperands {
            own: 1,
            flags: ValueFlags { short: "BbcDEeFIiJLlmOoPpQRSWw", long: &[] },
            but: &["N", "W", "O", "Q", "V", "G"],
        },
        hosts: HostWords::All,
        facts: &[Fact::PassesInputOn, Fact::LogsIn],
        examples: &[
            example("ssh x.example ls", Shows::Caveat),
            example("ssh -p 22 me@x.example", Shows::RunsInput),
            example("ssh x.example tee f", Shows::KeepsInput),
            example("ssh -N x.example", Shows::KeepsInput),
            example("ssh me@x.example", Shows::Hosts(&["x.example"])),
        ],
        ..Program::named(&["ssh"])
    },
    Program {
        runs: Runs::Anything,
        writes: FileWords::Operands {
            which: Operands::Last,
            flags: ValueFlags { short: "e", long: &["--rsh"] },
            into: &[],
        },
        effects: FileEffectRules {
            writes_unnamed: Condition::Always,
            ..FileEffectRules::RETARGETS
        },
        hosts: HostWords::All,
        examples: &[
            example("rsync -e ./evil a b", Shows::Caveat),
            example("rsync -a a b", Shows::Writes(&["b/a", "b"])),
            example("rsync a me@x.example:b", Shows::Hosts(&["a", "x.example"])),
        ],
        ..Program::named(&["rsync"])
    },
    Program {
        caveat: Caveat::Flags {
            long: &[],
            short: "DSoFJ",
            about: "the flag's value says what it runs",
        },
        writes: FileWords::Operands {
            which: Operands::Last,
            flags: ValueFlags { short: "PioFcJlSD", long: &[] },
            into: &[],
        },
        effects: FileEffectRules::RETARGETS,
        hosts: HostWords::All,
        facts: &[Fact::HasMoreFlags],
        examples: &[
            example("scp a b", Shows::Plain),
            example("scp -S ./evil a host:b", Shows::Caveat),
            example("scp -D ./evil a host:b", Shows::Caveat),
            example("scp -P 22 a b", Shows::Writes(&["b/a", "b"])),
            example("scp a x.example:b", Shows::Hosts(&["a", "x.example"])),
        ],
        ..Program::named(&["scp"])
    },
];
