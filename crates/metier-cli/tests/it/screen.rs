//! What stands on a terminal in the end, from the bytes that reached it: lines written over are gone.
//! Knows what the binary uses: line ends, carriage returns, the cursor moved up, the rest of a line
//! or of the screen cleared, and styles, which are dropped. Lines are taken to be endless.

/// The lines of the terminal after these bytes.
pub(crate) fn screen(bytes: &str) -> Vec<String> {
    let (mut rows, mut row, mut column) = (vec![Vec::<char>::new()], 0, 0);
    let mut rest = bytes.chars();
    while let Some(ch) = rest.next() {
        match ch {
            '\n' => {
                row += 1;
                column = 0;
                if row == rows.len() {
                    rows.push(Vec::new());
                }
            }
            '\r' => column = 0,
            '\u{1b}' => {
                assert_eq!(rest.next(), Some('['), "{bytes:?}");
                let mut number = String::new();
                let end = loop {
                    match rest.next().expect("a whole sequence") {
                        ch if ch.is_ascii_digit() || ch == ';' => number.push(ch),
                        ch => break ch,
                    }
                };
                match end {
                    'A' => row -= number.parse::<usize>().unwrap_or(1),
                    'K' => rows[row].truncate(column),
                    'J' => {
                        rows[row].truncate(column);
                        rows.truncate(row + 1);
                    }
                    'm' => {}
                    other => panic!("the sequence {number}{other} in {bytes:?}"),
                }
            }
            ch => {
                if rows[row].len() <= column {
                    rows[row].resize(column + 1, ' ');
                }
                rows[row][column] = ch;
                column += 1;
            }
        }
    }
    rows.into_iter().map(|row| row.into_iter().collect::<String>().trim_end().to_owned()).collect()
}

#[test]
fn what_is_written_over_is_gone() {
    assert_eq!(
        screen("one\ntwo\r\u{1b}[1Athree\u{1b}[K\n\u{1b}[J\u{1b}[1mx\u{1b}[0m"),
        ["three", "x"]
    );
}
