//! Small words for messages.

/// `1 value`, `2 values`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// `a`, `a or b`, `a, b or c`.
pub(crate) fn any_of(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_like_text() {
        assert_eq!((counted(1, "tile"), counted(0, "tile")), ("1 tile".to_owned(), "0 tiles".to_owned()));
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(any_of(&names[..1]), "a");
        assert_eq!(any_of(&names[..2]), "a or b");
        assert_eq!(any_of(&names), "a, b or c");
    }
}
