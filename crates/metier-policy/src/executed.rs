//! The table of files that CI, builds and agents execute or obey once someone uses them. Data only.
//!
//! Changing one is often the very task, so they are not in the floor, which nothing opens: each change
//! is a question, with the difference, unless a rule of the user's or an administrator's names that very
//! file. Names are compared without regard to case.

use crate::protected::ProtectedAt::{Anywhere, Name};
use crate::protected::{Protected, ProtectedAt, ProtectedFrom};

const CI: &str = "run by CI";
const BUILD: &str = "run by a build";
const WORDS: &str = "instructions that agents follow";

/// All files that are asked about.
pub(crate) fn executed() -> impl Iterator<Item = Protected> {
    let groups = [
        (CI, Anywhere, CI_FOLDERS),
        (CI, Name, CI_FILES),
        (BUILD, Anywhere, BUILD_FOLDERS),
        (BUILD, Name, BUILD_FILES),
        (WORDS, Anywhere, WORDS_FOLDERS),
        (WORDS, Name, WORDS_FILES),
    ];
    let entries =
        |(what, place, patterns): (&'static str, ProtectedAt, &'static [&'static str])| {
            patterns.iter().map(move |pattern| Protected {
                place,
                pattern,
                against: ProtectedFrom::Changes,
                what,
            })
        };
    groups.into_iter().flat_map(entries)
}

const CI_FOLDERS: &[&str] = &[
    ".github/workflows",
    ".github/actions",
    ".gitea/workflows",
    ".forgejo/workflows",
    ".gitlab",
    ".circleci",
    ".buildkite",
    ".woodpecker",
    ".semaphore",
    ".teamcity",
    ".azure-pipelines",
    ".builds",
    ".ci",
];

const CI_FILES: &[&str] = &[
    "*.gitlab-ci.y*ml",
    "jenkinsfile*",
    ".travis.y*ml",
    "*appveyor.y*ml",
    "azure-pipelines*.y*ml",
    "bitbucket-pipelines.y*ml",
    ".drone.y*ml",
    ".woodpecker.y*ml",
    ".cirrus.y*ml",
    ".build.y*ml",
    "cloudbuild.y*ml",
    "buildspec.y*ml",
    "action.y*ml",
    "netlify.toml",
    "vercel.json",
    "fly.toml",
    "wrangler.*",
    "procfile*",
];

const BUILD_FOLDERS: &[&str] =
    &[".cargo", ".mvn", ".yarn", "gradle/wrapper", "*.xcodeproj", "*.xcworkspace"];

#[rustfmt::skip]
const BUILD_FILES: &[&str] = &[
    // make and its relatives
    "makefile*", "gnumakefile", "*.mk", "cmakelists.txt", "*.cmake", "cmake*presets.json", "meson.build",
    "meson_options.txt", "configure", "configure.ac", "configure.in", "autogen.sh", "sconstruct", "sconscript",
    "wscript", "build.ninja", "justfile", ".justfile", "taskfile.y*ml", "magefile.go",
    "build", "build.bazel", "workspace", "workspace.bazel", "module.bazel", "*.bzl", ".bazelrc", "buck", ".buckconfig",
    // languages
    "cargo.toml", "build.rs", "rust-toolchain", "rust-toolchain.toml",
    "package.json", ".npmrc", ".yarnrc*", ".pnpmfile.*", "pnpm-workspace.y*ml", "turbo.json", "nx.json",
    "gulpfile.*", "gruntfile.*", ".eslintrc*", ".babelrc*", ".lintstagedrc*",
    "*.config.js", "*.config.cjs", "*.config.mjs", "*.config.ts", "*.config.cts", "*.config.mts",
    "deno.json*", "bunfig.toml", "binding.gyp",
    "setup.py", "setup.cfg", "pyproject.toml", "tox.ini", "noxfile.py", "pipfile", "hatch.toml", "dodo.py",
    "sitecustomize.py", "usercustomize.py", "*.pth",
    "rakefile", "gemfile", "*.gemspec", "*.rake", "extconf.rb", "composer.json",
    "*.gradle", "*.gradle.kts", "gradle.properties", "gradlew*", "pom.xml", "mvnw*", "build.xml", "*.sbt",
    "build.sc", "build.mill", "project.clj", "deps.edn",
    "*.csproj", "*.fsproj", "*.vbproj", "*.vcxproj", "*.proj", "*.props", "*.targets", "nuget.config", "*.cake",
    "mix.exs", "rebar.config*", "*.cabal", "cabal.project*", "stack.yaml", "setup.hs", "setup.lhs", "dune", "dune-project",
    "build.zig", "build.zig.zon", "package.swift", "podfile", "*.podspec", "fastfile", "*.nimble", "*.nix", "startup.m",
    // containers and environments
    "dockerfile*", "*.dockerfile", "containerfile*", "docker-compose*.y*ml", "compose*.y*ml", "docker-bake.*",
    "vagrantfile", "earthfile", "tiltfile", "skaffold.y*ml", "devbox.json", ".tool-versions", "replit.nix",
];

const WORDS_FOLDERS: &[&str] = &[
    ".github/instructions",
    ".github/prompts",
    ".github/agents",
    ".github/chatmodes",
    ".clinerules",
];

const WORDS_FILES: &[&str] = &[
    "agents.md",
    "claude.md",
    "claude.local.md",
    "gemini.md",
    "qwen.md",
    "crush.md",
    "warp.md",
    "copilot-instructions.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".roorules*",
    ".roomodes",
    ".goosehints",
    ".rules",
];
