//! The flow of control in PTX.

use std::collections::{BTreeMap, BTreeSet};

/// The entries of loops that have several, by their labels: what is left of the blocks of a function when loops of one entry
/// are taken as one block, and so is each block with the only one that goes to it.
pub(crate) fn entries_of_loops(ptx: &str) -> Vec<String> {
    // Labels are a function's own.
    ptx.split("\n}").flat_map(entries_in).collect()
}

fn entries_in(function: &str) -> Vec<String> {
    let mut next = successors(function);
    let mut seen = BTreeSet::from([String::new()]);
    let mut open = vec![String::new()];
    while let Some(block) = open.pop() {
        open.extend(next[&block].iter().filter(|&to| seen.insert(to.clone())).cloned());
    }
    next.retain(|block, _| seen.contains(block));
    loop {
        for (block, to) in &mut next {
            to.remove(block);
        }
        let before =
            |of: &String| next.iter().filter(|(_, to)| to.contains(of)).map(|(block, _)| block).collect::<Vec<_>>();
        let single = next.keys().filter(|block| !block.is_empty()).find_map(|block| match before(block)[..] {
            [only] => Some((block.clone(), only.clone())),
            _ => None,
        });
        let Some((block, only)) = single else { break };
        let to = next.remove(&block).unwrap_or_default();
        let merged = next.get_mut(&only).expect("a block");
        merged.remove(&block);
        merged.extend(to);
    }
    next.into_keys().filter(|block| !block.is_empty()).collect()
}

/// Where each block goes; the first one has no name.
fn successors(function: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut next: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let (mut block, mut ended) = (String::new(), false);
    next.insert(block.clone(), BTreeSet::new());
    for (number, line) in function.lines().map(str::trim).enumerate() {
        let label = line.strip_suffix(':').filter(|label| label.starts_with("$L__BB"));
        if let Some(label) = label {
            if !ended {
                next.entry(block).or_default().insert(label.to_owned());
            }
            (block, ended) = (label.to_owned(), false);
            next.entry(block.clone()).or_default();
            continue;
        }
        let Some((words, _)) = line.split_once(';') else { continue };
        let mut words = words.split_whitespace().peekable();
        let guarded = words.next_if(|word| word.starts_with('@')).is_some();
        match words.next() {
            Some("bra" | "bra.uni") => {
                next.entry(block.clone()).or_default().extend(words.next().map(str::to_owned));
                let rest = format!("behind line {number}");
                if guarded {
                    next.entry(block).or_default().insert(rest.clone());
                }
                next.entry(rest.clone()).or_default();
                (block, ended) = (rest, false);
            }
            Some("ret") => ended = true,
            _ => {}
        }
    }
    next
}

#[test]
fn two_entries_are_seen() {
    let text =
        "@%p1 bra $L__BB0_2;\n$L__BB0_1:\n@%p2 bra $L__BB0_3;\n$L__BB0_2:\nbra.uni $L__BB0_1;\n$L__BB0_3:\nret;\n}";
    assert_eq!(entries_of_loops(text), ["$L__BB0_1", "$L__BB0_2"]);
    assert!(entries_of_loops(&text.replace("@%p1 bra $L__BB0_2;", "")).is_empty());
}
