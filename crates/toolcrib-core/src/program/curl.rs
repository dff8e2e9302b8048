//! `curl` and `wget`: they reach hosts, and write what they get.

use super::arguments::ValueFlags;
use super::row::{
    Caveat, Condition, FileEffectRules, FileWords, HostWords, Operands, Program, Shows, example,
};

pub(super) const ROWS: &[Program] = &[
    Program {
        caveat: Caveat::Check(curl_caveat),
        writes: FileWords::Operands {
            which: Operands::None,
            flags: ValueFlags {
                short: "oDc",
                long: &["--output", "--dump-header", "--cookie-jar", "--output-dir"],
            },
            into: &["o", "D", "c", "--output", "--dump-header", "--cookie-jar", "--output-dir"],
        },
        effects: FileEffectRules {
            writes_unnamed: Condition::WithFlag {
                values: ValueFlags { short: "oDc", long: &[] },
                any: &["O", "J", "--remote-name", "--remote-name-all"],
            },
            ..FileEffectRules::NAMED
        },
        hosts: HostWords::AllButValuesOf(&[
            "-H",
            "-X",
            "-m",
            "--connect-timeout",
            "--header",
            "--max-time",
            "--request",
            "--retry",
        ]),
        examples: &[
            example("curl -sSfL https://x.example", Shows::Plain),
            example("curl -K cfg", Shows::Caveat),
            example("curl --json @.env http://x", Shows::Caveat),
            example("curl -s FILE:///x/.env", Shows::Caveat),
            example("curl http://x/{a,b}", Shows::Caveat),
            example("curl -fsSLo locked/x http://y", Shows::Writes(&["locked/x"])),
            example("curl -H a.example x.example/p", Shows::Hosts(&["x.example"])),
        ],
        ..Program::named(&["curl"])
    },
    Program {
        caveat: Caveat::Flags {
            long: &[
                "--use-askpass",
                "--execute",
                "--config",
                "--output-document",
                "--post-file",
                "--input-file",
                "--base",
            ],
            short: "eOiB",
            about: "it runs a program, or reads or writes a file",
        },
        writes: FileWords::Operands {
            which: Operands::None,
            flags: ValueFlags {
                short: "OPaoeiUt",
                long: &[
                    "--output-document",
                    "--directory-prefix",
                    "--append-output",
                    "--output-file",
                ],
            },
            into: &[
                "O",
                "P",
                "a",
                "o",
                "--output-document",
                "--directory-prefix",
                "--append-output",
                "--output-file",
            ],
        },
        effects: FileEffectRules { knows_writes: Condition::Always, ..FileEffectRules::UNNAMED },
        hosts: HostWords::All,
        examples: &[
            example("wget -i urls", Shows::Caveat),
            example("wget -qP locked http://x", Shows::Writes(&["locked"])),
            example("wget x.example", Shows::Hosts(&["x.example"])),
        ],
        ..Program::named(&["wget"])
    },
];

/// The long flags of curl that only say how.
const PLAIN_FLAGS: &[&str] = &[
    "--silent",
    "--show-error",
    "--fail",
    "--location",
    "--head",
    "--include",
    "--verbose",
    "--max-time",
    "--connect-timeout",
    "--retry",
    "--header",
    "--request",
    "--compressed",
    "--http1.1",
    "--http2",
    "--ipv4",
    "--ipv6",
    "--insecure",
    "--get",
    "--globoff",
];

const ONLY_HOW: Caveat = Caveat::OtherFlags {
    long: PLAIN_FLAGS,
    short: "sSfLkIivgG46HXm",
    about: "it may read, write or send files",
};

fn curl_caveat(rest: &[String]) -> Option<String> {
    if rest.iter().any(|it| it.to_ascii_lowercase().contains("file:")) {
        return Some("it reads a file by its URL".to_owned());
    }
    if expands_urls(rest) {
        return Some("it expands a pattern into several URLs".to_owned());
    }
    ONLY_HOW.of(rest)
}

/// Whether curl would expand braces or brackets into other URLs.
fn expands_urls(rest: &[String]) -> bool {
    let is_header = |at: usize| at > 0 && matches!(rest[at - 1].as_str(), "-H" | "--header");
    let is_plain = rest.iter().any(|word| word == "-g" || word == "--globoff");
    let words = rest.iter().enumerate();
    !is_plain
        && words.into_iter().any(|(at, word)| !is_header(at) && word.contains(['{', '[', '}']))
}
