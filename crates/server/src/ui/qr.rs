//! A QR code as one path of an SVG.

use std::fmt::Write as _;

use fast_qr::{ECL, QRBuilder};

/// The code's side in modules, and a path of its dark ones.
pub(super) struct Code {
    pub side: usize,
    pub path: String,
}

/// `None` where the text does not fit, which an id always does.
pub(super) fn code(text: &str) -> Option<Code> {
    let code = QRBuilder::new(text).ecl(ECL::M).build().ok()?;
    let mut path = String::new();
    for row in 0..code.size {
        let mut column = 0;
        while column < code.size {
            let run = code[row][column..code.size].iter().take_while(|module| module.value()).count();
            if run > 0 {
                let _ = write!(path, "M{column} {row}h{run}v1h-{run}z");
            }
            column += run + 1;
        }
    }
    Some(Code { side: code.size, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_fits_and_begins_with_a_finder_pattern() {
        let code = code("bk_3kbh7c9terhe9d4gjajj7tye0z").unwrap();
        assert!(code.side >= 21);
        assert!(code.path.starts_with("M0 0h7v1h-7z"), "{}", code.path);
    }
}
