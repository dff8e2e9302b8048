//! Programs of which only this is known: files of their directory say what they do.

use super::build::PYTHON_TEST_FILES;
use super::row::{Fact, Program, Shows, example};

/// Returns the row of programs that these files of their directory drive.
const fn driven(names: &'static [&'static str], facts: &'static [Fact]) -> Program {
    Program { facts, ..Program::named(names) }
}

pub(super) const ROWS: &[Program] = &[
    Program {
        examples: &[example("ant jar", Shows::DrivenBy(&["build.xml"]))],
        ..driven(&["ant"], &[Fact::DrivenBy(&["build.xml"])])
    },
    Program {
        examples: &[example(
            "bazel build x",
            Shows::DrivenBy(&[".bazelrc", "BUILD", "BUILD.bazel", "MODULE.bazel", "WORKSPACE"]),
        )],
        ..driven(
            &["bazel", "bazelisk"],
            &[Fact::DrivenBy(&[".bazelrc", "BUILD", "BUILD.bazel", "MODULE.bazel", "WORKSPACE"])],
        )
    },
    Program {
        examples: &[example(
            "cmake .",
            Shows::DrivenBy(&[
                "CMakeLists.txt",
                "CMakePresets.json",
                "CMakeUserPresets.json",
                "CTestTestfile.cmake",
            ]),
        )],
        ..driven(
            &["cmake", "cpack", "ctest"],
            &[Fact::DrivenBy(&[
                "CMakeLists.txt",
                "CMakePresets.json",
                "CMakeUserPresets.json",
                "CTestTestfile.cmake",
            ])],
        )
    },
    Program {
        examples: &[example("composer install", Shows::DrivenBy(&["composer.json"]))],
        ..driven(&["composer"], &[Fact::DrivenBy(&["composer.json"])])
    },
    Program {
        examples: &[example(
            "./gradlew build",
            Shows::DrivenBy(&[
                "build.gradle",
                "build.gradle.kts",
                "gradle.properties",
                "settings.gradle",
                "settings.gradle.kts",
            ]),
        )],
        ..driven(
            &["gradle", "gradlew"],
            &[Fact::DrivenBy(&[
                "build.gradle",
                "build.gradle.kts",
                "gradle.properties",
                "settings.gradle",
                "settings.gradle.kts",
            ])],
        )
    },
    Program {
        examples: &[example("jest a", Shows::DrivenBy(&["package.json"]))],
        ..driven(
            &["eslint", "jest", "mocha", "prettier", "vite", "vitest", "webpack"],
            &[Fact::DrivenBy(&["package.json"])],
        )
    },
    Program {
        examples: &[example("just test", Shows::DrivenBy(&[".justfile", "Justfile", "justfile"]))],
        ..driven(&["just"], &[Fact::DrivenBy(&[".justfile", "Justfile", "justfile"])])
    },
    Program {
        examples: &[example(
            "meson setup x",
            Shows::DrivenBy(&["meson.build", "meson.options", "meson_options.txt"]),
        )],
        ..driven(
            &["meson"],
            &[Fact::DrivenBy(&["meson.build", "meson.options", "meson_options.txt"])],
        )
    },
    Program {
        examples: &[example("mix test", Shows::DrivenBy(&["mix.exs"]))],
        ..driven(&["mix"], &[Fact::DrivenBy(&["mix.exs"])])
    },
    Program {
        examples: &[example(
            "mvn test",
            Shows::DrivenBy(&[
                ".mvn/extensions.xml",
                ".mvn/jvm.config",
                ".mvn/maven.config",
                "pom.xml",
            ]),
        )],
        ..driven(
            &["mvn", "mvnw"],
            &[Fact::DrivenBy(&[
                ".mvn/extensions.xml",
                ".mvn/jvm.config",
                ".mvn/maven.config",
                "pom.xml",
            ])],
        )
    },
    Program {
        examples: &[example("ninja", Shows::DrivenBy(&["build.ninja"]))],
        ..driven(&["ninja", "samu"], &[Fact::DrivenBy(&["build.ninja"])])
    },
    Program {
        examples: &[example("nox", Shows::DrivenBy(&["noxfile.py"]))],
        ..driven(&["nox"], &[Fact::DrivenBy(&["noxfile.py"])])
    },
    Program {
        examples: &[example("pre-commit run", Shows::DrivenBy(&[".pre-commit-config.yaml"]))],
        ..driven(&["pre-commit"], &[Fact::DrivenBy(&[".pre-commit-config.yaml"])])
    },
    Program {
        examples: &[example(
            "rake test",
            Shows::DrivenBy(&["Rakefile", "Rakefile.rb", "rakefile", "rakefile.rb"]),
        )],
        ..driven(
            &["rake"],
            &[Fact::DrivenBy(&["Rakefile", "Rakefile.rb", "rakefile", "rakefile.rb"])],
        )
    },
    Program {
        examples: &[example("sbt test", Shows::DrivenBy(&["build.sbt"]))],
        ..driven(&["sbt"], &[Fact::DrivenBy(&["build.sbt"])])
    },
    Program {
        examples: &[example("scons", Shows::DrivenBy(&["SConstruct", "Sconstruct", "sconstruct"]))],
        ..driven(&["scons"], &[Fact::DrivenBy(&["SConstruct", "Sconstruct", "sconstruct"])])
    },
    Program {
        examples: &[example(
            "task build",
            Shows::DrivenBy(&["Taskfile.dist.yml", "Taskfile.yaml", "Taskfile.yml"]),
        )],
        ..driven(
            &["go-task", "task"],
            &[Fact::DrivenBy(&["Taskfile.dist.yml", "Taskfile.yaml", "Taskfile.yml"])],
        )
    },
    Program {
        examples: &[example("tox", Shows::DrivenBy(PYTHON_TEST_FILES))],
        ..driven(&["tox"], &[Fact::DrivenBy(PYTHON_TEST_FILES)])
    },
    Program {
        examples: &[example("terraform plan", Shows::DrivenBy(&["terraform.tfvars"]))],
        ..driven(
            &["terraform", "tofu"],
            &[Fact::TakesSubcommand, Fact::DrivenBy(&["terraform.tfvars"])],
        )
    },
];
