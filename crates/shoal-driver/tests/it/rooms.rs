//! Files of this crate import each other without circles, and what all devices share knows none of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Module paths from the crate's root (`cpu::fiber`) and those that each of them names in its `use` declarations.
fn imports() -> BTreeMap<String, BTreeSet<String>> {
    let mut texts = BTreeMap::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut texts);
    let modules: Vec<String> = texts.keys().cloned().collect();
    let of = |(module, text): (&String, &String)| {
        let named = uses(text).into_iter().filter_map(|path| resolve(module, &path, &modules)).collect();
        (module.clone(), named)
    };
    texts.iter().map(of).collect()
}

fn read(folder: &Path, prefix: &str, texts: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        let join = |name: &str| if prefix.is_empty() { name.to_owned() } else { format!("{prefix}::{name}") };
        if path.is_dir() {
            read(&path, &join(&name), texts);
        } else if let Some(stem) = name.strip_suffix(".rs").filter(|&stem| stem != "lib" && stem != "mod") {
            // Tests may look at anything.
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
            texts.insert(join(stem), code);
        }
    }
}

/// The paths of `use` declarations, groups taken apart.
fn uses(text: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for declaration in text.split("\nuse ").skip(1) {
        let declaration = declaration.split(';').next().unwrap_or_default();
        expand("", &declaration.split_whitespace().collect::<String>(), &mut paths);
    }
    paths
}

fn expand(prefix: &str, rest: &str, paths: &mut Vec<String>) {
    let Some((head, group)) = rest.split_once('{') else {
        paths.push(format!("{prefix}{rest}"));
        return;
    };
    let group = group.strip_suffix('}').unwrap_or(group);
    let (mut depth, mut start) = (0, 0);
    for (at, c) in group.char_indices().chain([(group.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if start < at {
                    expand(&format!("{prefix}{head}"), &group[start..at], paths);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// The module of this crate that a path leads to.
fn resolve(module: &str, path: &str, modules: &[String]) -> Option<String> {
    let parent = module.rsplit_once("::").map_or("", |(parent, _)| parent);
    let absolute = match path.split_once("::")? {
        ("crate", rest) => rest.to_owned(),
        ("super", rest) if parent.is_empty() => rest.to_owned(),
        ("super", rest) => format!("{parent}::{rest}"),
        _ => return None,
    };
    let found = modules.iter().filter(|m| absolute == **m || absolute.starts_with(&format!("{m}::")));
    found.max_by_key(|m| m.len()).cloned()
}

#[test]
fn imports_have_no_circles() {
    let mut left = imports();
    assert!(left["cpu::fiber"].contains("cpu::scratch"), "the imports are not read");
    // Whoever imports nobody that is left cannot be part of a circle.
    loop {
        let free: Vec<String> = left
            .iter()
            .filter(|(module, named)| named.iter().all(|m| m == *module || !left.contains_key(m)))
            .map(|(module, _)| module.clone())
            .collect();
        if free.is_empty() {
            break;
        }
        left.retain(|module, _| !free.contains(module));
    }
    assert!(left.is_empty(), "these import each other in a circle: {left:#?}");
}

#[test]
fn what_devices_share_knows_no_device() {
    for (module, named) in imports() {
        for device in ["cpu::", "cuda::"] {
            let crossing: Vec<_> = named.iter().filter(|m| m.starts_with(device)).collect();
            assert!(module.starts_with(device) || crossing.is_empty(), "`{module}` imports {crossing:?}");
        }
    }
}
