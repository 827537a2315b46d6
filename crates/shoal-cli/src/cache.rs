//! `shoal cache`.

use std::sync::Once;

use shoal::cache::Cache;

use crate::command_line::CacheAction;
use crate::failure::Failure;
use crate::numbers::bytes;
use crate::table::{Align, Table};

pub(crate) fn cache(action: &CacheAction) -> Result<(), Failure> {
    let path = Cache::default_path().map_err(|refusal| Failure::new(refusal.to_string()))?;
    if let CacheAction::Path = action {
        outln!("{}", path.display());
        return Ok(());
    }
    let cache = Cache::open(&path).map_err(|refusal| Failure::new(format!("the cache is not used: {refusal}")))?;
    let failed = |verb| {
        let path = path.clone();
        move |reason| Failure::File { verb, path, reason }
    };
    match action {
        CacheAction::Path => {}
        CacheAction::List => list(&cache).map_err(failed("read"))?,
        CacheAction::Clear => {
            let removed = cache.clear().map_err(failed("clear"))?;
            outln!("removed {removed} compiled kernels from {}", path.display());
        }
    }
    Ok(())
}

/// Says once why compiled kernels are not kept, if they are not.
pub(crate) fn warn_if_unused() {
    static SAID: Once = Once::new();
    if let Err(refusal) = Cache::user() {
        SAID.call_once(|| eprintln!("warning: compiled kernels are not kept: {refusal}"));
    }
}

fn list(cache: &Cache) -> std::io::Result<()> {
    let entries = cache.list()?;
    let mut table =
        Table::new(&[("kernel", Align::Left), ("source", Align::Left), ("size", Align::Right), ("entry", Align::Left)]);
    for entry in &entries {
        let short: String = entry.file.chars().take(12).collect();
        match &entry.label {
            Some(label) => table.row([label.kernel.clone(), label.source.clone(), bytes(entry.bytes), short]),
            None => table.row(["(damaged)".into(), String::new(), bytes(entry.bytes), short]),
        }
    }
    if !table.is_empty() {
        outln!("{table}");
    }
    let total = entries.iter().map(|entry| entry.bytes).sum();
    let (total, limit) = (bytes(total), bytes(cache.limit()));
    outln!("{} compiled kernels, {total} of at most {limit}, in {}", entries.len(), cache.path().display());
    Ok(())
}
