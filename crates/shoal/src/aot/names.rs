//! Names that both C and Rust accept.

/// Words that are no names in C, C++ or Rust, and those that generated functions use themselves.
const TAKEN: &str = "\
    alignas alignof and as asm async auto await bool box break case catch char class config const continue crate \
    default delete device do double dyn else enum extern false final float fn for friend gen goto grid if impl in \
    inline int let long loop macro match mod move mut namespace new not operator or override priv private \
    protected pub public ref register restrict return self Self short signed sizeof static stream struct super switch \
    template this throw trait true try type typedef typename typeof union unsafe unsigned unsized use using \
    virtual void volatile where while words xor yield _";

fn is_taken(name: &str) -> bool {
    TAKEN.split_whitespace().any(|word| word == name)
}

/// The name of a parameter, changed if it means something else in C or Rust.
pub(crate) fn param(name: &str) -> String {
    if is_taken(name) { format!("{name}_") } else { name.to_owned() }
}

/// Whether this can be the name of a function in C and Rust, and of a file.
pub(crate) fn is_plain(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !is_taken(name)
        && !["load", "variant"].contains(&name)
}

/// A text as a constant's name: capitals, digits and underscores.
pub(crate) fn upper(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_uppercase).collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_fit_for_both_languages() {
        assert_eq!((param("in"), param("x")), ("in_".to_owned(), "x".to_owned()));
        assert_eq!(upper("Block_-1.5"), "BLOCK_1_5");
        assert!(is_plain("add_2"));
        assert!(!is_plain("2add") && !is_plain("a-b") && !is_plain("fn") && !is_plain("load") && !is_plain(""));
    }
}
