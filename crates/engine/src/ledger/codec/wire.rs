//! Bytes: varints, texts, options and lists, with a reader that survives anything.

/// Bytes that mean nothing, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("byte {at}: {what}")]
pub struct Malformed {
    pub at: usize,
    pub what: String,
}

/// Appends to a buffer.
#[derive(Debug)]
pub struct Writer<'a>(pub &'a mut Vec<u8>);

impl Writer<'_> {
    pub fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub fn flag(&mut self, flag: bool) {
        self.byte(flag.into());
    }

    /// Seven bits a byte, the lowest first.
    pub fn uint(&mut self, value: impl Into<u64>) {
        let mut value = value.into();
        while value >= 0x80 {
            self.byte(value as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8);
    }

    /// Zigzag, so that small negative numbers stay small.
    pub fn int(&mut self, value: i64) {
        self.uint(((value << 1) ^ (value >> 63)) as u64);
    }

    pub fn bits128(&mut self, bits: u128) {
        self.0.extend_from_slice(&bits.to_be_bytes());
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.uint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }

    pub fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.uint(items.len() as u64);
        items.iter().for_each(|item| write(self, item));
    }
}

/// Reads from the front of a slice.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub const fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    const fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub fn fault(&self, what: impl Into<String>) -> Malformed {
        Malformed { at: self.at, what: what.into() }
    }

    /// Nothing may follow what was read.
    pub fn end(&self) -> Result<(), Malformed> {
        if self.is_empty() { Ok(()) } else { Err(self.fault("more bytes than the value has")) }
    }

    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        if count > self.left() {
            return Err(self.fault("the bytes end too early"));
        }
        let taken = &self.bytes[self.at..self.at + count];
        self.at += count;
        Ok(taken)
    }

    pub fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.take(1)?[0])
    }

    pub fn flag(&mut self) -> Result<bool, Malformed> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.fault("a flag is neither 0 nor 1")),
        }
    }

    pub fn uint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(self.fault("a number is too large"));
            }
            value |= bits << shift;
            if byte < 0x80 {
                // One value, one spelling: a padded number would hash differently.
                return if byte == 0 && shift > 0 {
                    Err(self.fault("a number is padded"))
                } else {
                    Ok(value)
                };
            }
        }
        Err(self.fault("a number does not end"))
    }

    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.uint()?.try_into().map_err(|_| self.fault("a number is too large"))
    }

    pub fn int(&mut self) -> Result<i64, Malformed> {
        let value = self.uint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    pub fn i32(&mut self) -> Result<i32, Malformed> {
        self.int()?.try_into().map_err(|_| self.fault("a number is too large"))
    }

    pub fn bits128(&mut self) -> Result<u128, Malformed> {
        let bytes = self.take(16)?;
        Ok(u128::from_be_bytes(bytes.try_into().expect("sixteen bytes were taken")))
    }

    pub fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let count = self.uint()?;
        self.take(count.try_into().unwrap_or(usize::MAX))
    }

    pub fn text(&mut self) -> Result<&'a str, Malformed> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|_| self.fault("a text is not UTF-8"))
    }

    pub fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Option<T>, Malformed> {
        if self.flag()? { read(self).map(Some) } else { Ok(None) }
    }

    pub fn list<T>(
        &mut self,
        read: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let mut items = Vec::with_capacity(self.clone().count()?.min(4096));
        self.each(read, |item| items.push(item))?;
        Ok(items)
    }

    /// A list, handed over item by item.
    pub fn each<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, Malformed>,
        mut each: impl FnMut(T),
    ) -> Result<(), Malformed> {
        for _ in 0..self.count()? {
            each(read(self)?);
        }
        Ok(())
    }

    /// How many items a list has.
    fn count(&mut self) -> Result<usize, Malformed> {
        let count = self.uint()?;
        // An item takes a byte at least, so a count beyond what is left is a lie, told before memory is reserved.
        if count > self.left() as u64 {
            return Err(self.fault("a list is longer than its bytes"));
        }
        Ok(count as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            Writer(&mut bytes).uint(value);
            assert_eq!(Reader::new(&bytes).uint(), Ok(value));
        }
        for value in [0, -1, 1, i64::MIN, i64::MAX] {
            let mut bytes = Vec::new();
            Writer(&mut bytes).int(value);
            assert_eq!(Reader::new(&bytes).int(), Ok(value));
        }
    }

    #[test]
    fn a_number_has_one_spelling() {
        assert!(Reader::new(&[0x80, 0x00]).uint().is_err());
        assert!(Reader::new(&[0xff; 11]).uint().is_err());
        assert!(Reader::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]).uint().is_err());
    }

    #[test]
    fn a_lying_length_reserves_nothing() {
        let mut bytes = Vec::new();
        Writer(&mut bytes).uint(u64::MAX);
        assert!(Reader::new(&bytes).list(Reader::byte).is_err());
        assert!(Reader::new(&bytes).bytes().is_err());
    }
}
