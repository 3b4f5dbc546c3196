//! One connection: a request out, a response in, in step.
//!
//! ```text
//! inbox: │ answered │ head ···· \r\n\r\n │ body ···· │ (nothing: one at a time)
//!        0          start                            end
//! ```
//! A response borrows the connection's buffer, so a hot loop copies and allocates nothing per request.

use std::{io, str};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::Target;

/// More than any answer this client asks for; a server that sends more is not ours.
const MAX_RESPONSE: usize = 256 << 20;
const MAX_HEAD: usize = 64 << 10;

#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    inbox: Vec<u8>,
    /// A chunked body, put together.
    unchunked: Vec<u8>,
}

#[derive(Debug)]
pub struct Response<'a> {
    pub status: u16,
    head: &'a str,
    pub body: &'a [u8],
}

impl Response<'_> {
    pub fn header(&self, name: &str) -> Option<&str> {
        header(self.head, name)
    }

    /// The server will take no further request on this connection.
    pub fn closes(&self) -> bool {
        self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

#[derive(Debug, Clone, Copy)]
enum Framing {
    Length(usize),
    Chunked,
}

impl Connection {
    pub async fn open(target: &Target) -> io::Result<Self> {
        let stream = TcpStream::connect(target.authority()).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, inbox: Vec::with_capacity(4096), unchunked: Vec::new() })
    }

    pub async fn exchange(&mut self, request: &[u8]) -> io::Result<Response<'_>> {
        self.send(request).await?;
        self.receive().await
    }

    pub async fn send(&mut self, request: &[u8]) -> io::Result<()> {
        self.inbox.clear();
        self.stream.write_all(request).await
    }

    pub async fn receive(&mut self) -> io::Result<Response<'_>> {
        let (status, head_len, framing) = self.read_head().await?;
        match framing {
            Framing::Length(length) => {
                let end =
                    head_len.checked_add(length).filter(|&end| end <= MAX_RESPONSE).ok_or_else(too_large)?;
                while self.inbox.len() < end {
                    self.read_more().await?;
                }
                Ok(Response {
                    status,
                    head: text(&self.inbox[..head_len])?,
                    body: &self.inbox[head_len..end],
                })
            }
            Framing::Chunked => {
                self.read_chunks(head_len).await?;
                Ok(Response { status, head: text(&self.inbox[..head_len])?, body: &self.unchunked })
            }
        }
    }

    /// Reads until the blank line; the status, where the body begins and how it is framed.
    async fn read_head(&mut self) -> io::Result<(u16, usize, Framing)> {
        let mut searched = 0;
        let end = loop {
            if let Some(at) = find(&self.inbox[searched..], b"\r\n\r\n") {
                break searched + at + 4;
            }
            if self.inbox.len() > MAX_HEAD {
                return Err(too_large());
            }
            // The blank line may straddle two reads.
            searched = self.inbox.len().saturating_sub(3);
            self.read_more().await?;
        };
        let head = text(&self.inbox[..end])?;
        let status = status(head).ok_or_else(|| malformed("no status line"))?;
        Ok((status, end, framing(head, status)?))
    }

    async fn read_chunks(&mut self, mut at: usize) -> io::Result<()> {
        self.unchunked.clear();
        loop {
            let line_end = self.find_line_end(at).await?;
            let size =
                chunk_size(&self.inbox[at..line_end]).ok_or_else(|| malformed("a chunk without a size"))?;
            let end = line_end + 2 + size + 2;
            if end > MAX_RESPONSE {
                return Err(too_large());
            }
            while self.inbox.len() < end {
                self.read_more().await?;
            }
            if size == 0 {
                return Ok(());
            }
            self.unchunked.extend_from_slice(&self.inbox[line_end + 2..line_end + 2 + size]);
            at = end;
        }
    }

    async fn find_line_end(&mut self, from: usize) -> io::Result<usize> {
        loop {
            if let Some(at) = find(&self.inbox[from..], b"\r\n") {
                return Ok(from + at);
            }
            self.read_more().await?;
        }
    }

    async fn read_more(&mut self) -> io::Result<()> {
        match self.stream.read_buf(&mut self.inbox).await? {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection")),
            _ => Ok(()),
        }
    }

    /// Whatever arrives next, for endless bodies such as event streams; `None` once the server has closed.
    pub async fn next_bytes(&mut self) -> io::Result<Option<&[u8]>> {
        self.inbox.clear();
        let read = self.stream.read_buf(&mut self.inbox).await?;
        Ok((read > 0).then_some(self.inbox.as_slice()))
    }

    /// Reads the head of an endless body; what follows comes from [`Self::next_bytes`].
    pub async fn open_stream(&mut self, request: &[u8]) -> io::Result<u16> {
        self.send(request).await?;
        self.read_head().await.map(|(status, ..)| status)
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

fn text(head: &[u8]) -> io::Result<&str> {
    str::from_utf8(head).map_err(|_| malformed("a head that is no text"))
}

fn status(head: &str) -> Option<u16> {
    head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()
}

fn framing(head: &str, status: u16) -> io::Result<Framing> {
    if matches!(status, 204 | 304) {
        return Ok(Framing::Length(0));
    }
    if let Some(length) = header(head, "content-length") {
        return length.parse().map(Framing::Length).map_err(|_| malformed("a length that is no number"));
    }
    match header(head, "transfer-encoding") {
        Some(coding) if coding.eq_ignore_ascii_case("chunked") => Ok(Framing::Chunked),
        _ => Err(malformed("a body without a length")),
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.split("\r\n").skip(1).find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

fn chunk_size(line: &[u8]) -> Option<usize> {
    let digits = line.split(|&byte| byte == b';').next()?;
    usize::from_str_radix(str::from_utf8(digits).ok()?.trim(), 16).ok().filter(|&size| size <= MAX_RESPONSE)
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the answer is not HTTP/1.1: {what}"))
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the answer is larger than any Holdfast gives")
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// A server that answers one request with these pieces, one write each, and closes.
    async fn answered(pieces: &'static [&'static [u8]]) -> Connection {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = Target::from(listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 64];
            let _ = stream.read(&mut request).await.unwrap();
            for piece in pieces {
                stream.write_all(piece).await.unwrap();
                stream.flush().await.unwrap();
                tokio::task::yield_now().await;
            }
        });
        Connection::open(&target).await.unwrap()
    }

    #[tokio::test]
    async fn reads_bodies_by_length_however_they_arrive() {
        let pieces: &[&[u8]] =
            &[b"HTTP/1.1 201 Created\r\nContent-Le", b"ngth: 5\r\nx-a: b\r\n\r", b"\nhel", b"lo"];
        let mut connection = answered(pieces).await;
        let response = connection.exchange(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        assert_eq!((response.status, response.body, response.header("X-A")), (201, &b"hello"[..], Some("b")));
    }

    #[tokio::test]
    async fn reads_chunked_bodies_and_bodies_that_are_not_there() {
        let pieces: &[&[u8]] = &[
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r",
            b"\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
        ];
        let mut connection = answered(pieces).await;
        assert_eq!(connection.exchange(b"GET").await.unwrap().body, b"abcde");
        let mut connection = answered(&[b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"]).await;
        let response = connection.exchange(b"GET").await.unwrap();
        assert!(response.closes() && response.body.is_empty());
    }

    #[tokio::test]
    async fn whatever_is_no_http_is_an_error_not_a_hang() {
        let answers: [&'static [&'static [u8]]; 5] = [
            &[],
            &[b"SSH-2.0\r\n\r\n"],
            &[b"HTTP/1.1 200 OK\r\n\r\n"],
            &[b"HTTP/1.1 200 OK\r\ncontent-length: 9999999999999\r\n\r\n"],
            &[b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"],
        ];
        for pieces in answers {
            assert!(answered(pieces).await.exchange(b"GET").await.is_err(), "{pieces:?}");
        }
    }
}
