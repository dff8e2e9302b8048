//! What modules of Python do with the scripts that their words name: `x.py` of `python3 -m cProfile x.py`.

/// What a module does with scripts that its words name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModuleKind {
    /// It runs them.
    RunsScripts,
    /// It checks code or runs tests. The files that it is given change all the time, and it is there to find out how.
    Checks,
    /// It is not known.
    Unknown,
}

const RUN_SCRIPTS: &[&str] = &[
    "IPython",
    "bdb",
    "bpython",
    "cProfile",
    "coverage",
    "debugpy",
    "doctest",
    "ipdb",
    "kernprof",
    "line_profiler",
    "memory_profiler",
    "pdb",
    "profile",
    "ptpython",
    "pudb",
    "pyinstrument",
    "runpy",
    "scalene",
    "trace",
    "viztracer",
];

const CHECK: &[&str] = &[
    "ast",
    "autopep8",
    "bandit",
    "black",
    "compileall",
    "dis",
    "flake8",
    "isort",
    "mypy",
    "py_compile",
    "pycodestyle",
    "pydocstyle",
    "pyflakes",
    "pylint",
    "pyright",
    "pytest",
    "ruff",
    "tabnanny",
    "tokenize",
    "unittest",
    "vulture",
    "yapf",
];

/// Returns what the module with this name does.
pub(super) fn module_kind(name: &str) -> ModuleKind {
    let package = name.split('.').next().unwrap_or(name);
    match package {
        _ if RUN_SCRIPTS.contains(&package) => ModuleKind::RunsScripts,
        _ if CHECK.contains(&package) => ModuleKind::Checks,
        _ => ModuleKind::Unknown,
    }
}
