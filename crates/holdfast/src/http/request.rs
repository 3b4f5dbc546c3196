//! Writing requests. A [`Request`] is written once; a [`Template`] many times with other bodies, by copying a
//! prepared head, so that a load generator spends its time on the wire.

use std::io::Write;

use super::Target;

/// A request ready to be sent, any number of times.
#[derive(Debug, Clone)]
pub struct Request(Vec<u8>);

impl Request {
    pub fn get(target: &Target, path: &str, headers: &[(&str, &str)]) -> Self {
        Self::bare("GET", target, path, headers)
    }

    /// Without a body.
    pub fn bare(method: &str, target: &Target, path: &str, headers: &[(&str, &str)]) -> Self {
        let mut bytes = head(method, target, path, headers);
        bytes.extend_from_slice(b"\r\n");
        Self(bytes)
    }

    pub fn with_body(
        method: &str,
        target: &Target,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Self {
        let mut bytes = Vec::new();
        Template::new(method, target, path, headers).write(body, &mut bytes);
        Self(bytes)
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The part of a request that stays the same from one to the next.
#[derive(Debug, Clone)]
pub struct Template(Vec<u8>);

impl Template {
    pub fn new(method: &str, target: &Target, path: &str, headers: &[(&str, &str)]) -> Self {
        let mut bytes = head(method, target, path, headers);
        bytes.extend_from_slice(b"content-type: application/json\r\ncontent-length: ");
        Self(bytes)
    }

    /// Replaces `out` with the whole request.
    pub fn write(&self, body: &[u8], out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&self.0);
        write!(out, "{}\r\n\r\n", body.len()).expect("a vector takes every write");
        out.extend_from_slice(body);
    }
}

fn head(method: &str, target: &Target, path: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\n", target.authority());
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head.into_bytes()
}

/// A value for a query string or a path segment: everything but the plainest characters is escaped.
pub fn escaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => text.push(byte as char),
            _ => text += &format!("%{byte:02X}"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_writes_whole_requests() {
        let target: Target = "http://h:1".parse().unwrap();
        let template = Template::new("POST", &target, "/v1/holds", &[("authorization", "Bearer k")]);
        let mut out = b"left over".to_vec();
        template.write(b"{}", &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "POST /v1/holds HTTP/1.1\r\nhost: h:1\r\nauthorization: Bearer k\r\n\
             content-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
        );
    }

    #[test]
    fn escapes_what_would_end_a_query() {
        assert_eq!(escaped("2026-11-16T08:00Z&a=b é"), "2026-11-16T08%3A00Z%26a%3Db%20%C3%A9");
    }
}
