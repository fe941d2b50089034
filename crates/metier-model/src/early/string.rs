//! One JSON string, character by character: escapes and surrogate pairs may be cut anywhere.
//! It gives each character as soon as it is certain, and none that is not.

/// Reads the inside of a string, from after its opening quote.
#[derive(Debug, Clone, Default)]
pub(super) struct StringReader {
    text: String,
    escape: Escape,
    /// The first half of a surrogate pair.
    high: Option<u32>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    Backslash,
    Hex {
        value: u32,
        digits: u8,
    },
}

/// What a character was.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A part of the string.
    More,
    /// Its end. This is what was not moved away before.
    End(String),
    /// No string is like this.
    Wrong,
}

impl StringReader {
    /// Takes the next character.
    pub(super) fn take(&mut self, c: char) -> Piece {
        match (self.escape, c) {
            (Escape::None, '\\') => self.escape = Escape::Backslash,
            (Escape::Backslash, 'u') => self.escape = Escape::Hex { value: 0, digits: 0 },
            (Escape::Hex { value, digits }, _) => {
                let Some(digit) = c.to_digit(16) else { return Piece::Wrong };
                let value = value * 16 + digit;
                if digits < 3 {
                    self.escape = Escape::Hex { value, digits: digits + 1 };
                } else {
                    self.escape = Escape::None;
                    return self.unit(value);
                }
            }
            // A first half must be followed by its second.
            _ if self.high.is_some() => return Piece::Wrong,
            (Escape::None, '"') => return Piece::End(std::mem::take(&mut self.text)),
            (Escape::None, '\0'..='\x1f') => return Piece::Wrong,
            (Escape::None, _) => self.text.push(c),
            (Escape::Backslash, _) => {
                self.text.push(match c {
                    '"' | '\\' | '/' => c,
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    _ => return Piece::Wrong,
                });
                self.escape = Escape::None;
            }
        }
        Piece::More
    }

    /// Takes a unit of UTF-16.
    fn unit(&mut self, value: u32) -> Piece {
        let code = match (self.high.take(), value) {
            (None, 0xD800..=0xDBFF) => {
                self.high = Some(value);
                return Piece::More;
            }
            (Some(high), 0xDC00..=0xDFFF) => 0x1_0000 + ((high - 0xD800) << 10) + (value - 0xDC00),
            (None, _) => value,
            (Some(_), _) => return Piece::Wrong,
        };
        match char::from_u32(code) {
            Some(c) => {
                self.text.push(c);
                Piece::More
            }
            None => Piece::Wrong,
        }
    }

    /// Moves what is there of the string.
    pub(super) fn move_to(&mut self, out: &mut String) {
        out.push_str(&self.text);
        self.text.clear();
    }
}
