//! The page "What a command can and cannot do" is true, line by line.

use std::path::Path;

use crate::ground::{for_all, outside};
use crate::scratch::Ran;

/// One line of the page: the command, whether it works, and what it prints.
struct Claim {
    command: String,
    works: bool,
    prints: Option<String>,
}

fn claims() -> Vec<Claim> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut claims = Vec::new();
    for line in page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---")) {
        let escaped = line.replace("\\|", "\u{1}");
        let cells: Vec<String> =
            escaped.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect();
        // Other tables have two columns.
        let [_, claim, command, outcome, _] = &cells[..] else { continue };
        if claim == "Claim" {
            continue;
        }
        let command = command.strip_prefix('`').and_then(|it| it.strip_suffix('`'));
        let (word, prints) = outcome.split_once(": ").unwrap_or((outcome, ""));
        claims.push(Claim {
            command: command.unwrap_or_else(|| panic!("{line}")).to_owned(),
            works: match word {
                "works" => true,
                "fails" => false,
                other => panic!("{other}: {line}"),
            },
            prints: prints.strip_prefix('`').and_then(|it| it.strip_suffix('`')).map(str::to_owned),
        });
    }
    claims
}

#[test]
fn every_line_of_the_page_is_true() {
    let claims = claims();
    assert!(claims.len() >= 39, "only {}", claims.len());
    for_all(|scratch| {
        scratch.put("file", "text\n");
        outside(
            scratch,
            "git init -q . && git add file && git -c user.name=a -c user.email=a@b commit -qm one",
        );
        for claim in &claims {
            let mut command = scratch.command();
            command.env("SECRET_TOKEN", "1").args([
                "sandbox",
                "run",
                "--",
                "bash",
                "-c",
                &claim.command,
            ]);
            let got: Ran = command.output().unwrap().into();
            let said =
                format!("`{}`: exit {}\n{}{}", claim.command, got.code, got.stdout, got.stderr);
            assert_eq!(got.code == 0, claim.works, "{said}");
            assert!(!got.stderr.contains("the sandbox is not available"), "{said}");
            if let Some(prints) = &claim.prints {
                assert!(got.stdout.contains(prints) || got.stderr.contains(prints), "{said}");
            }
        }
    });
}
