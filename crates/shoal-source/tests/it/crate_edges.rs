//! Which crate may import which: the picture in `ARCHITECTURE.md`, held by a test.
//!
//! The table is what may be imported, not what is; an edge that is not in it needs a change of design, not of this
//! test.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const COMPILER: [&str; 7] =
    ["shoal-source", "shoal-layout", "shoal-ir", "shoal-lang", "shoal-passes", "shoal-interp", "shoal-codegen"];

/// Crate, and the crates of the workspace that it may import.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("shoal-source", &[]),
    ("shoal-layout", &[]),
    ("shoal-abi", &[]),
    ("shoal-ir", &["shoal-source", "shoal-layout", "shoal-abi"]),
    ("shoal-lang", &["shoal-source", "shoal-ir", "shoal-abi"]),
    ("shoal-passes", &["shoal-ir", "shoal-layout", "shoal-abi"]),
    ("shoal-interp", &["shoal-ir"]),
    ("shoal-codegen", &["shoal-ir", "shoal-layout", "shoal-abi"]),
    ("shoal-driver", &["shoal-abi"]),
    ("shoal-runtime", &["shoal-abi", "shoal-driver"]),
    ("shoal-macros", &["shoal-source", "shoal-lang"]),
    ("shoal-world", &["shoal-abi", "shoal-driver"]),
    (
        "shoal",
        &[
            "shoal-source",
            "shoal-layout",
            "shoal-abi",
            "shoal-ir",
            "shoal-lang",
            "shoal-passes",
            "shoal-interp",
            "shoal-codegen",
            "shoal-driver",
            "shoal-world",
            "shoal-macros",
        ],
    ),
    ("shoal-kernels", &["shoal"]),
    ("shoal-cli", &["shoal", "shoal-kernels"]),
    ("shoal-python", &["shoal", "shoal-kernels", "shoal-cli"]),
];

/// The two ends of the compiler and what lies between: each knows the IR only, in its tests too.
const NEVER_SEE_EACH_OTHER: [&str; 4] = ["shoal-lang", "shoal-passes", "shoal-codegen", "shoal-interp"];

/// These never see the compiler, in their tests neither.
const NEVER_SEE_THE_COMPILER: [&str; 3] = ["shoal-driver", "shoal-runtime", "shoal-world"];

/// One dependency between crates of the workspace.
struct Edge {
    from: String,
    to: String,
    is_dev: bool,
}

struct Workspace {
    crates: BTreeSet<String>,
    edges: Vec<Edge>,
}

fn workspace() -> Workspace {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path"])
        .arg(&manifest)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");

    let packages = metadata["packages"].as_array().expect("a list of packages");
    let name = |value: &Value| value["name"].as_str().expect("packages have names").to_owned();
    let crates: BTreeSet<String> = packages.iter().map(name).collect();
    let mut edges = Vec::new();
    for package in packages {
        for dependency in package["dependencies"].as_array().expect("a list of dependencies") {
            let to = name(dependency);
            if crates.contains(&to) {
                edges.push(Edge { from: name(package), to, is_dev: dependency["kind"] == "dev" });
            }
        }
    }
    Workspace { crates, edges }
}

#[test]
fn imports_follow_the_design() {
    let table: BTreeMap<&str, &[&str]> = MAY_IMPORT.iter().copied().collect();
    let workspace = workspace();
    let mut wrong = Vec::new();
    for name in &workspace.crates {
        if !table.contains_key(name.as_str()) {
            wrong.push(format!("`{name}` is not in the table: say what it may import"));
        }
    }
    for Edge { from, to, is_dev } in &workspace.edges {
        let allowed = table.get(from.as_str()).is_some_and(|allowed| allowed.contains(&to.as_str()));
        if !is_dev && !allowed {
            wrong.push(format!("`{from}` may not import `{to}`"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_stages_of_the_compiler_never_see_each_other() {
    for Edge { from, to, .. } in workspace().edges {
        let both = [&from, &to].map(|name| NEVER_SEE_EACH_OTHER.contains(&name.as_str()));
        assert_ne!(both, [true, true], "`{from}` may not import `{to}`, in its tests neither");
    }
}

#[test]
fn devices_and_ranks_never_see_the_compiler() {
    for Edge { from, to, .. } in workspace().edges {
        let sees = NEVER_SEE_THE_COMPILER.contains(&from.as_str()) && COMPILER.contains(&to.as_str());
        assert!(!sees, "`{from}` may not import `{to}`, in its tests neither");
    }
}

/// Guards the guard: the test would pass on an empty list too.
#[test]
fn the_edges_are_really_read() {
    let workspace = workspace();
    assert!(workspace.crates.contains("shoal-source"));
    assert!(workspace.edges.iter().any(|edge| edge.from == "shoal-ir" && edge.to == "shoal-source"));
}
