//! Interpreters of programming languages. Shells are elsewhere.

use super::arguments::ValueFlags;
use super::row::{Fact, Program, Runs, Shows, example};
use super::script_flags::{ScriptFlags, ScriptOperands};

/// The files that say how a script in JavaScript finds its modules.
const SCRIPT_PACKAGE: &[&str] =
    &["bunfig.toml", "deno.json", "deno.jsonc", "package.json", "tsconfig.json"];

/// How shells take a script.
pub(super) const SHELL_SCRIPTS: ScriptFlags = ScriptFlags {
    values: ValueFlags { short: "coO", long: &["--init-file", "--rcfile"] },
    files: &["--init-file", "--rcfile"],
    inline: &["c"],
    ..ScriptFlags::UNKNOWN
};

/// How `awk` takes a script: its first operand is the script itself.
pub(super) const AWK_SCRIPTS: ScriptFlags = ScriptFlags {
    attached: "DLdop",
    values: ValueFlags {
        short: "EFefilv",
        long: &["--assign", "--exec", "--field-separator", "--file", "--include", "--source"],
    },
    files: &["E", "f", "i", "--exec", "--file", "--include"],
    operands: ScriptOperands::Data,
    ..ScriptFlags::UNKNOWN
};

/// How `sed` takes a script: its first operand is the script itself.
pub(super) const SED_SCRIPTS: ScriptFlags = ScriptFlags {
    attached: "i",
    values: ValueFlags { short: "efl", long: &["--expression", "--file", "--line-length"] },
    files: &["f", "--file"],
    operands: ScriptOperands::Data,
    ..ScriptFlags::UNKNOWN
};

/// How `perl` takes a script.
pub(super) const PERL_SCRIPTS: ScriptFlags = ScriptFlags {
    attached: "CDFMVimx",
    values: ValueFlags { short: "EIe", long: &[] },
    inline: &["E", "e"],
    ..ScriptFlags::UNKNOWN
};

const PYTHON_SCRIPTS: ScriptFlags = ScriptFlags {
    values: ValueFlags { short: "QWXcm", long: &["--check-hash-based-pycs"] },
    inline: &["c"],
    module: "m",
    endings: &["/__main__.py"],
    ..ScriptFlags::UNKNOWN
};

const RUBY_SCRIPTS: ScriptFlags = ScriptFlags {
    attached: "FKix",
    values: ValueFlags { short: "CEIer", long: &[] },
    files: &["r"],
    inline: &["e"],
    endings: &[".rb"],
    ..ScriptFlags::UNKNOWN
};

const PHP_SCRIPTS: ScriptFlags = ScriptFlags {
    values: ValueFlags { short: "BEFRSTcdfrtz", long: &[] },
    files: &["F", "f", "z"],
    inline: &["B", "E", "R", "r"],
    ..ScriptFlags::UNKNOWN
};

const LUA_SCRIPTS: ScriptFlags = ScriptFlags {
    values: ValueFlags { short: "el", long: &[] },
    files: &["l"],
    endings: &[".lua"],
    ..ScriptFlags::UNKNOWN
};

const NODE_SCRIPTS: ScriptFlags = ScriptFlags {
    values: ValueFlags {
        short: "Cepr",
        long: &[
            "--conditions",
            "--eval",
            "--experimental-loader",
            "--import",
            "--loader",
            "--preload",
            "--print",
            "--require",
        ],
    },
    files: &["r", "--experimental-loader", "--import", "--loader", "--preload", "--require"],
    inline: &["e", "p", "--eval", "--print"],
    endings: &[".js", ".cjs", ".mjs", ".ts", "/package.json", "/index.js", "/index.ts"],
    ..ScriptFlags::UNKNOWN
};

/// An interpreter that reads scripts from its input, too.
const INTERPRETER: Program = Program { runs: Runs::Interpreter, ..Program::named(&[]) };

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["python"],
        facts: &[Fact::DrivenBy(&[]), Fact::RunsScript(PYTHON_SCRIPTS)],
        examples: &[
            example("python3.11 x.py", Shows::Caveat),
            example("python3.11 x.py", Shows::DrivenBy(&[])),
            example("python3 -W error x.py data", Shows::Scripts(&["x.py", "data"])),
            example("python3 -um pkg.mod data", Shows::Scripts(&["pkg/mod.py"])),
            example("python3 -m pkg x.py", Shows::Scripts(&["pkg.py", "x.py"])),
            example("python3 -m pytest x.py", Shows::Scripts(&["pytest.py"])),
            example("python3 -m pdb -c n x", Shows::Scripts(&["pdb.py", "n", "x"])),
            example(
                "python3 -m coverage run -m mod x.py",
                Shows::Scripts(&["coverage.py", "run", "mod.py", "x.py"]),
            ),
            example("python3 -c 1 data", Shows::Scripts(&["1"])),
        ],
        ..INTERPRETER
    },
    Program {
        names: &["ruby"],
        facts: &[Fact::DrivenBy(&[]), Fact::RunsScript(RUBY_SCRIPTS)],
        examples: &[
            example("ruby x.rb", Shows::DrivenBy(&[])),
            example("ruby -r ./a x.rb", Shows::Scripts(&["./a", "x.rb"])),
            example("ruby -ir x.rb", Shows::Scripts(&["x.rb"])),
        ],
        ..INTERPRETER
    },
    Program {
        names: &["php"],
        facts: &[Fact::DrivenBy(&[]), Fact::RunsScript(PHP_SCRIPTS)],
        examples: &[
            example("php x.php", Shows::DrivenBy(&[])),
            example("php -d a=b -f x.php", Shows::Scripts(&["x.php"])),
        ],
        ..INTERPRETER
    },
    Program {
        names: &["lua", "tclsh"],
        facts: &[Fact::DrivenBy(&[]), Fact::RunsScript(LUA_SCRIPTS)],
        examples: &[
            example("lua x.lua", Shows::DrivenBy(&[])),
            example("lua5.4 -l a x.lua", Shows::Scripts(&["a", "x.lua"])),
        ],
        ..INTERPRETER
    },
    Program {
        names: &["bun", "deno", "node", "nodejs"],
        facts: &[Fact::DrivenBy(SCRIPT_PACKAGE), Fact::RunsScript(NODE_SCRIPTS)],
        examples: &[
            example("node x.js", Shows::Caveat),
            example("node x.js", Shows::DrivenBy(SCRIPT_PACKAGE)),
            example("node -r ./a.js x.js", Shows::Scripts(&["./a.js", "x.js"])),
            example("deno run --allow-all x.ts", Shows::Scripts(&["run", "x.ts"])),
        ],
        ..INTERPRETER
    },
    // Their flags are not known, so any operand could be the script.
    Program {
        names: &[
            "R",
            "Rscript",
            "coverage",
            "dc",
            "expect",
            "iex",
            "ipython",
            "irb",
            "java",
            "jshell",
            "julia",
            "kernprof",
            "luajit",
            "nawk",
            "octave",
            "osascript",
            "powershell",
            "pwsh",
            "pyinstrument",
            "pypy",
            "runghc",
            "scalene",
            "ts-node",
            "tsx",
            "viztracer",
        ],
        runs: Runs::Anything,
        facts: &[Fact::DrivenBy(SCRIPT_PACKAGE), Fact::RunsScript(ScriptFlags::UNKNOWN)],
        examples: &[
            example("pypy3 x.py", Shows::Caveat),
            example("ts-node x.ts", Shows::Caveat),
            example("ts-node x.ts", Shows::DrivenBy(SCRIPT_PACKAGE)),
            example("Rscript --vanilla x.R", Shows::Scripts(&["x.R"])),
            example("coverage run x.py", Shows::Scripts(&["run", "x.py"])),
        ],
        ..Program::named(&[])
    },
];
