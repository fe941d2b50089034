//! Armoured text (`-----BEGIN X-----`), read strictly: nothing before, between or after that is not white.
//!
//! Programs that skip what they do not know disagree about what a file contains; a signature or a key that
//! two of them read differently is refused.

use data_encoding::BASE64;

/// One armoured block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PemBlock {
    pub(crate) label: String,
    pub(crate) bytes: Vec<u8>,
}

/// All blocks of a text; `None` where it is anything else than blocks.
pub(crate) fn parse_pem(text: &str) -> Option<Vec<PemBlock>> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    while let Some(line) = lines.next() {
        let label = line.strip_prefix("-----BEGIN ")?.strip_suffix("-----")?;
        let end = format!("-----END {label}-----");
        let mut body = String::new();
        loop {
            match lines.next()? {
                line if line == end => break,
                line => body.push_str(line),
            }
        }
        let bytes = BASE64.decode(body.as_bytes()).ok()?;
        blocks.push(PemBlock { label: label.to_owned(), bytes });
    }
    (!blocks.is_empty()).then_some(blocks)
}

/// A block as text, with lines of `columns` characters.
pub(crate) fn write_pem(label: &str, bytes: &[u8], columns: usize) -> String {
    let body = BASE64.encode(bytes);
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in body.as_bytes().chunks(columns) {
        text.push_str(std::str::from_utf8(line).unwrap_or_default());
        text.push('\n');
    }
    text.push_str(&format!("-----END {label}-----\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_read_back_and_nothing_else_is_read() {
        let text = write_pem("A KEY", &[7; 100], 64);
        let block = PemBlock { label: "A KEY".to_owned(), bytes: vec![7; 100] };
        assert_eq!(parse_pem(&text), Some(vec![block]));
        for other in [
            format!("x\n{text}"),
            format!("{text}x\n"),
            text.replace("END A KEY", "END B KEY"),
            text.replace("BwcH", "Bw!H"),
            text.replace("-----END A KEY-----\n", ""),
            String::new(),
        ] {
            assert_eq!(parse_pem(&other), None, "{other}");
        }
    }
}
