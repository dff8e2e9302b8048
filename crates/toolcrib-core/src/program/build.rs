//! Programs that build, test, install and deploy: compilers, package managers, containers.

use super::arguments::{is_bundled, is_long};
use super::input::RunsInput;
use super::row::{Caveat, CommandWords, Fact, FileWords, Program, Runs, Shows, example, with};

const CARGO_FILES: &[&str] = &[
    ".cargo/config",
    ".cargo/config.toml",
    "Cargo.toml",
    "build.rs",
    "rust-toolchain",
    "rust-toolchain.toml",
];

const CONTAINER_FILES: &[&str] = &[
    ".env",
    "Containerfile",
    "Dockerfile",
    "compose.override.yaml",
    "compose.override.yml",
    "compose.yaml",
    "compose.yml",
    "docker-compose.override.yml",
    "docker-compose.yaml",
    "docker-compose.yml",
];

const DOTNET_FILES: &[&str] =
    &["Directory.Build.props", "Directory.Build.targets", "global.json", "nuget.config"];

/// In the order in which `make` looks for them: a new `GNUmakefile` takes the place of a `Makefile`.
const MAKEFILES: &[&str] = &["GNUmakefile", "makefile", "Makefile"];

const NODE_FILES: &[&str] =
    &[".npmrc", ".pnpmfile.cjs", ".yarnrc", ".yarnrc.yml", "package.json", "pnpm-workspace.yaml"];

const PYTHON_PROJECT_FILES: &[&str] = &[
    "Pipfile",
    "poetry.toml",
    "pyproject.toml",
    "requirements.txt",
    "setup.cfg",
    "setup.py",
    "uv.toml",
];

pub(super) const PYTHON_TEST_FILES: &[&str] =
    &[".pytest.ini", "conftest.py", "pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini"];

pub(super) const ROWS: &[Program] = &[
    Program {
        caveat: Caveat::Check(compiler_caveat),
        writes: FileWords::Find(compiler_writes),
        facts: &[Fact::HasMoreFlags],
        examples: &[
            example("gcc -O2 -c x.c", Shows::Plain),
            example("gcc -wrapper ./evil -c x.c", Shows::Caveat),
            example("gcc -Wl,-plugin,./evil.so a.c", Shows::Caveat),
            example("gcc -o locked/x a.c", Shows::Writes(&["locked/x"])),
            example("c++ --output=locked/f a.c", Shows::Writes(&["locked/f"])),
            example("gcc -fno-common locked/x.c", Shows::Writes(&[])),
        ],
        ..Program::named(&["c++", "cc", "clang", "clang++", "g++", "gcc", "gfortran"])
    },
    Program {
        caveat: Caveat::Check(rustc_caveat),
        writes: FileWords::Find(compiler_writes),
        facts: &[Fact::HasMoreFlags],
        examples: &[
            example("rustc a.rs", Shows::Plain),
            example("rustc -C linker=./evil a.rs", Shows::Caveat),
            example("rustc --out-dir x a.rs", Shows::Writes(&["x"])),
        ],
        ..Program::named(&["rustc"])
    },
    Program {
        writes: FileWords::Find(compiler_writes),
        examples: &[example("tsc --outDir x", Shows::Writes(&["x"]))],
        ..Program::named(&["ld", "tsc"])
    },
    Program {
        caveat: Caveat::Check(cargo_caveat),
        facts: &[Fact::TakesSubcommand, Fact::DrivenBy(CARGO_FILES)],
        examples: &[
            example("cargo build --target wasm32-unknown-unknown", Shows::Plain),
            example("cargo --config a=b build", Shows::Caveat),
            example("cargo test -- --logfile src/main.rs", Shows::Caveat),
        ],
        ..Program::named(&["cargo"])
    },
    Program {
        caveat: Caveat::OtherFlags {
            long: &[
                "-v",
                "-x",
                "-race",
                "-short",
                "-count",
                "-run",
                "-timeout",
                "-cover",
                "-bench",
                "-benchmem",
                "-benchtime",
                "-json",
                "-parallel",
                "-failfast",
                "-tags",
                "-trimpath",
                "-p",
                "-a",
                "-n",
                "-skip",
                "-shuffle",
                "-m",
                "-u",
                "-f",
            ],
            short: "vx",
            about: "it may run a program or write a file",
        },
        facts: &[Fact::TakesSubcommand, Fact::DrivenBy(&["go.mod", "go.work"])],
        examples: &[
            example("go test ./...", Shows::Plain),
            example("go test -blockprofile x", Shows::Caveat),
            example("go vet --vettool=./evil ./...", Shows::Caveat),
        ],
        ..Program::named(&["go"])
    },
    Program {
        caveat: Caveat::Check(make_caveat),
        runs_input: RunsInput::FromFlag { long: &["--file", "--makefile"], short: 'f' },
        facts: &[Fact::DrivenBy(MAKEFILES)],
        examples: &[
            example("make test", Shows::DrivenBy(MAKEFILES)),
            example("make -f - all", Shows::RunsInput),
            example("make -sf/dev/stdin", Shows::RunsInput),
            example("make --file=- all", Shows::RunsInput),
            example("make -f other", Shows::KeepsInput),
            example("make test", Shows::Plain),
            example("make test deploy", Shows::Caveat),
            example("make test SHELL=./x", Shows::Caveat),
            example("make -f other", Shows::Caveat),
        ],
        ..Program::named(&["gmake", "make"])
    },
    Program {
        caveat: Caveat::Check(pytest_caveat),
        facts: &[Fact::DrivenBy(PYTHON_TEST_FILES)],
        examples: &[
            example("pytest -q", Shows::DrivenBy(PYTHON_TEST_FILES)),
            example("pytest -q tests", Shows::Plain),
            example("pytest --basetemp=src", Shows::Caveat),
            example("pytest @docs/args", Shows::Caveat),
        ],
        ..Program::named(&["py.test", "pytest"])
    },
    Program { commands: &[CommandWords::After(&["exec", "x"])], ..NODE_PACKAGES },
    Program {
        names: &["pnpm", "yarn"],
        commands: &[CommandWords::After(&["dlx", "exec"])],
        ..NODE_PACKAGES
    },
    Program {
        commands: &[CommandWords::After(&["run"])],
        facts: &[Fact::TakesSubcommand, Fact::DrivenBy(PYTHON_PROJECT_FILES)],
        examples: &[
            example("poetry install", Shows::Plain),
            example("poetry run x", Shows::Caveat),
            example("poetry -C sub run x", Shows::Caveat),
        ],
        ..Program::named(&["poetry"])
    },
    Program {
        commands: &[CommandWords::After(&["run"])],
        facts: &[Fact::DrivenBy(PYTHON_PROJECT_FILES)],
        examples: &[example("conda list", Shows::Plain), example("conda run x", Shows::Caveat)],
        ..Program::named(&["conda", "mamba", "pipenv", "rye"])
    },
    Program {
        commands: &[CommandWords::After(&["exec"])],
        facts: &[Fact::DrivenBy(&[".bundle/config", "Gemfile"])],
        examples: &[
            example("bundle install", Shows::Plain),
            example("bundle exec x", Shows::Caveat),
        ],
        ..Program::named(&["bundle"])
    },
    Program {
        commands: &[CommandWords::After(&["exec", "run"])],
        facts: &[Fact::DrivenBy(DOTNET_FILES)],
        examples: &[example("dotnet build", Shows::Plain), example("dotnet run x", Shows::Caveat)],
        ..Program::named(&["dotnet"])
    },
    Program {
        runs: Runs::Anything,
        commands: &[CommandWords::After(&["run"])],
        facts: &[Fact::TakesSubcommand, Fact::DrivenBy(PYTHON_PROJECT_FILES)],
        examples: &[example("uv sync", Shows::Caveat)],
        ..Program::named(&["uv"])
    },
    Program {
        runs: Runs::Anything,
        facts: &[Fact::TakesSubcommand, Fact::DrivenBy(PYTHON_PROJECT_FILES)],
        examples: &[example("pip install x", Shows::Caveat)],
        ..Program::named(&["pip", "pip3"])
    },
    Program {
        runs: Runs::Anything,
        facts: &[Fact::DrivenBy(NODE_FILES)],
        examples: &[example("npx x", Shows::Caveat)],
        ..Program::named(&["npx", "pipx", "uvx"])
    },
    Program {
        runs: Runs::Anything,
        commands: &[CommandWords::After(&["exec", "run"])],
        facts: &[
            Fact::TakesSubcommand,
            Fact::Contains,
            Fact::PassesInputOn,
            Fact::DrivenBy(CONTAINER_FILES),
        ],
        examples: &[example("docker ps", Shows::Caveat)],
        ..Program::named(&["docker", "podman"])
    },
    Program {
        commands: &[CommandWords::After(&["exec", "run"])],
        facts: &[Fact::TakesSubcommand, Fact::Contains, Fact::PassesInputOn],
        examples: &[
            example("kubectl get pods", Shows::Plain),
            example("kubectl exec x", Shows::Caveat),
        ],
        ..Program::named(&["kubectl"])
    },
    Program {
        facts: &[Fact::TakesSubcommand],
        examples: &[example("apt list", Shows::Plain)],
        ..Program::named(&[
            "apt",
            "apt-get",
            "aws",
            "az",
            "brew",
            "dnf",
            "gcloud",
            "gem",
            "gh",
            "helm",
            "nft",
            "systemctl",
            "twine",
            "yum",
        ])
    },
];

const NODE_PACKAGES: Program = Program {
    caveat: Caveat::Check(node_packages_caveat),
    facts: &[Fact::TakesSubcommand, Fact::DrivenBy(NODE_FILES)],
    examples: &[
        example("npm test", Shows::Plain),
        example("npm test", Shows::DrivenBy(NODE_FILES)),
        example("npm exec x", Shows::Caveat),
        example("yarn dlx x", Shows::Caveat),
        example("npm run test ---script-shell=./x", Shows::Caveat),
        example("npm test -- --watch", Shows::Plain),
    ],
    ..Program::named(&["npm"])
};

fn compiler_caveat(rest: &[String]) -> Option<String> {
    const RUNS: &[&str] = &[
        "-fpass-plugin",
        "-fuse-ld",
        "-fmodule-mapper",
        "-wrapper",
        "-B",
        "-fplugin",
        "-specs",
        "--specs",
        "@",
        "-Xclang",
        "-load",
        "-Wl,",
        "-Wa,",
        "-Wp,",
        "-Xlinker",
        "-Xassembler",
    ];
    // Many flags with two dashes are another name for one of those.
    let is_long = |word: &str| word.starts_with("--") && !matches!(word, "--version" | "--help");
    let runs = |word: &&String| is_long(word) || RUNS.iter().any(|flag| word.starts_with(flag));
    rest.iter().find(runs).map(|word| with(word, "it runs the program that the flag names"))
}

fn rustc_caveat(rest: &[String]) -> Option<String> {
    let loads = |it: &&String| {
        it.contains("link")
            || is_long(it, "--extern")
            || it.starts_with("-L")
            || it.starts_with("-Z")
            || it.starts_with('@')
    };
    rest.iter().find(loads).map(|word| with(word, "it loads or runs what the flag names"))
}

/// Returns what a compiler puts out. Its flags are long with one dash, so that letters are not bundled.
fn compiler_writes(rest: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    for (at, word) in rest.iter().enumerate() {
        let next = || rest.get(at + 1).cloned();
        match word.strip_prefix("-o").or_else(|| word.strip_prefix("--output")) {
            Some("") => all.extend(next()),
            Some(value) => all.push(value.trim_start_matches('=').to_owned()),
            None if matches!(word.as_str(), "--outDir" | "--outFile" | "--out-dir") => {
                all.extend(next());
            }
            None => all.extend(word.strip_prefix("--out-dir=").map(str::to_owned)),
        }
    }
    all
}

fn cargo_caveat(rest: &[String]) -> Option<String> {
    const SETTINGS: &[&str] =
        &["--config", "--manifest-path", "--target-dir", "--artifact-dir", "--out-dir", "--root"];
    if rest.iter().any(|word| word.starts_with("--logfile")) {
        return Some("with `--logfile`, it writes a file".to_owned());
    }
    // Cargo takes no shortened flags: `--target` is not `--target-dir`.
    let is_setting = |word: &&String| {
        word.split('=').next().is_some_and(|name| SETTINGS.contains(&name))
            || is_bundled(word, "ZC")
    };
    rest.iter().find(is_setting).map(|word| with(word, "its settings name programs to run"))
}

fn make_caveat(rest: &[String]) -> Option<String> {
    const OTHER_FILES: Caveat = Caveat::Flags {
        long: &["--eval", "--file", "--makefile", "--directory", "--include-dir"],
        short: "fCIE",
        about: "other files or words say what it runs",
    };
    if let Some(word) = rest.iter().find(|word| word.contains('=')) {
        return Some(with(word, "its variables say what it runs"));
    }
    if rest.iter().filter(|word| !word.starts_with('-')).count() > 1 {
        return Some("it makes more than one target".to_owned());
    }
    OTHER_FILES.of(rest)
}

fn pytest_caveat(rest: &[String]) -> Option<String> {
    let known = |word: &str| {
        matches!(word, "-q" | "-qq" | "-v" | "-vv" | "-x" | "-s" | "-l" | "-k" | "-m")
            || word.starts_with("--tb=")
            || word.starts_with("--maxfail=")
    };
    let odd = rest.iter().find(|word| word.starts_with(['-', '@']) && !known(word));
    odd.map(|word| with(word, "it can load or write other files"))
}

/// Returns a caveat for every flag that is not known: whatever begins with a dash can be a setting, however many
/// dashes there are. What follows `--` is for the script.
fn node_packages_caveat(rest: &[String]) -> Option<String> {
    let known = |word: &str| matches!(word, "--silent" | "-s" | "--if-present");
    let own = rest.iter().take_while(|word| *word != "--");
    let odd = own.into_iter().find(|word| word.starts_with('-') && !known(word));
    odd.map(|word| with(word, "its settings say what it runs"))
}
