//! Reading source text. A path may lead to a device that never ends, or to a file that is larger than memory.

use std::io::{self, Read};

/// The most bytes of a source file: far more than anybody writes.
const MAX_BYTES: u64 = 1 << 24;

/// Reads all of a source text.
///
/// # Errors
/// When it cannot be read, is not UTF-8, or has more than 16 MiB.
pub fn read_source(from: impl Read) -> io::Result<String> {
    let invalid = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why);
    let mut bytes = Vec::new();
    from.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(invalid("it has more than 16 MiB, which no source text has"));
    }
    String::from_utf8(bytes).map_err(|_| invalid("it is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_refused() {
        assert_eq!(read_source("x = 1".as_bytes()).unwrap(), "x = 1");
        let said = |from: &mut dyn Read| read_source(from).unwrap_err().to_string();
        assert_eq!(said(&mut [b'x', 0xff].as_slice()), "it is not UTF-8 text");
        assert_eq!(said(&mut io::repeat(0)), "it has more than 16 MiB, which no source text has");
    }
}
