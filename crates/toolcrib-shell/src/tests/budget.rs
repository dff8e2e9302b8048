//! The work that a text costs.

use super::*;

/// Reads a text, and counts the steps that this costs.
fn counted(text: &str) -> (Reading, usize) {
    let budget = Budget::new(MOST_STEPS);
    let reading = BashReader::default().read_within(text, &budget);
    (reading, MOST_STEPS - budget.left())
}

fn cost(text: &str) -> usize {
    counted(text).1
}

#[test]
fn work_is_bounded_and_counted_in_steps() {
    // What is made to take long is not read to its end, and nothing of it is proven.
    let nested = |open: &str, close: &str, deep: usize| {
        format!("echo {}x{}", open.repeat(deep), close.repeat(deep))
    };
    let slow = [
        "x=(".repeat(21_000),
        "`".repeat(60_000),
        "a ( ".repeat(15_000),
        nested("$(echo ", ")", 5_000),
        nested("\"$(echo ", ")\"", 5_000),
        nested("$(cd a; ", ")", 5_000),
        format!("find {}", "-exec ".repeat(8000)),
    ];
    let check = |slow: &str| {
        let start: String = slow.chars().take(20).collect();
        let (reading, steps) = counted(slow);
        assert!(reading.proven.is_err(), "{start}: {steps}");
        assert!(!start.contains("$(") || !reading.dangers.is_empty(), "{start}: {steps}");
    };
    std::thread::scope(|scope| {
        for slow in &slow {
            scope.spawn(move || check(slow));
        }
    });
    let nested = nested("$(echo ", ")", 500);
    assert_eq!(counted(&nested), counted(&nested));
    // These look as if they took long, and do not.
    let names = ('a'..='z').flat_map(|a| ('a'..='z').map(move |b| format!("{a}{b}=;")));
    let names: String = names.collect();
    for text in [
        format!("{names}{names}{names}: {}", "$- ".repeat(14_000)),
        format!("x | {}y", "sudo -a ".repeat(7000)),
        format!("cp {}", "-t d a ".repeat(5000)),
        format!("cat {}", "file.txt ".repeat(6000)),
        format!("echo '{}'", "x".repeat(60_000)),
        format!(
            "cat > f <<E\n{}E\n",
            "a line of $text with (odd) \"characters\" in it\n".repeat(1200)
        ),
        format!("python3 - <<'E'\n{}E\n", "print({'a': [1, 2], \"b\": f(x)})\n".repeat(1500)),
        "true && ".repeat(60) + "true",
    ] {
        let start: String = text.chars().take(20).collect();
        assert!(cost(&text) < MOST_STEPS / 2, "{start}: {}", cost(&text));
    }
    assert!(cost("git status --short && ls -la src") < 2_000);
}

#[test]
fn variables_and_loops_do_not_multiply_what_is_read() {
    let bytes = |reading: &Reading| -> usize {
        let steps = reading.proven.iter().flat_map(|proven| &proven.steps);
        steps.flat_map(|step| &step.words).map(String::len).sum()
    };
    let grown = |lines: usize, times: usize| {
        let names = ('b'..).zip('a'..).take(lines);
        let line = |(name, before)| format!("v{name}=\"{}\"", format!("$v{before}").repeat(times));
        let lines: Vec<String> = names.map(line).collect();
        format!("va=xxxxxxxxxx\n{}\nls", lines.join("\n"))
    };
    let looped = |values: usize, words: usize| {
        format!("for x in {}; do cat {}; done", "a ".repeat(values), "b/c ".repeat(words))
    };
    let many: Vec<String> = (0..3000).map(|number| format!("v{number}=\"$vx$vx\"")).collect();
    let many = format!("vx={}\n{}\nls", "x".repeat(10_000), many.join("\n"));
    for text in [grown(9, 10), grown(4, 100), looped(900, 14_000), many] {
        let reading = read(&text);
        assert!(reading.proven.is_err(), "{text:.40}");
        assert!(bytes(&reading) <= 1 << 20, "{text:.40}");
    }
    // The control: a few values, and a long list.
    for text in [grown(3, 10), looped(9, 1000), looped(900, 3)] {
        assert!(read(&text).proven.is_ok(), "{text:.40}: {:?}", read(&text).proven);
    }
}

#[test]
fn a_command_beyond_the_budget_is_dangerous_and_not_proven() {
    let text = "git status && ls";
    let needed = cost(text);
    let within = |steps: usize| BashReader::default().read_within(text, &Budget::new(steps));
    // The control: with the steps that it needs, and one to spare, it is read.
    assert!(within(needed + 1).proven.is_ok());
    for steps in [0, 1, needed / 2, needed] {
        let reading = within(steps);
        assert!(reading.proven.is_err(), "{steps}");
        assert_eq!(reading.dangers, [Danger::TooLong], "{steps}");
    }
}

#[test]
fn commands_within_commands_do_not_multiply_the_work_of_policy() {
    let bytes =
        |reading: &Reading| -> usize { reading.found.iter().flatten().map(String::len).sum() };
    let nested = |deep: usize| format!("echo {}x{}", "$(echo ".repeat(deep), ")".repeat(deep));
    let deep = read(&nested(5_000));
    assert!(bytes(&deep) <= 1 << 20, "{}", bytes(&deep));
    assert!(deep.dangers.contains(&Danger::TooMany), "{:?}", deep.dangers);
    // The control: what nobody would call deep, and what is only long.
    for text in [nested(40), format!("bash -c 'cat {}'", "file.txt ".repeat(6000))] {
        let reading = read(&text);
        assert_eq!(reading.dangers, [], "{text:.40}");
        assert!(bytes(&reading) > text.len(), "{text:.40}");
    }
}
