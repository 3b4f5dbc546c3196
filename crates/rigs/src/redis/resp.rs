//! As much of Redis's protocol as a rig needs for itself: one command, one reply.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
};

use crate::{Result, RigError, server::connect};

/// What Redis said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Status(String),
    Integer(i64),
    Bulk(Vec<u8>),
    Array(Vec<Reply>),
    /// An error inside an array; one that stands alone is an `Err`.
    Error(String),
    Nil,
}

impl Reply {
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Status(text) | Self::Error(text) => Some(text),
            Self::Bulk(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            other => other.text()?.parse().ok(),
        }
    }

    pub fn items(&self) -> &[Reply] {
        match self {
            Self::Array(items) => items,
            _ => &[],
        }
    }
}

/// The nesting and the lengths that a rig's own questions never reach; they bound what a confused peer can do.
const DEEPEST: u8 = 8;
const LONGEST: u64 = 64 << 20;

pub(super) fn ask(address: SocketAddr, words: &[&str]) -> Result<Reply> {
    let talk = || {
        let mut stream = BufReader::new(connect(address)?);
        stream.get_mut().write_all(&encode(words))?;
        read(&mut stream, DEEPEST)
    };
    match talk().map_err(RigError::io(format!("asking Redis for {}", words.join(" "))))? {
        Reply::Error(said) => Err(RigError::Refused { command: words.join(" "), said }),
        reply => Ok(reply),
    }
}

fn encode(words: &[&str]) -> Vec<u8> {
    let mut command = format!("*{}\r\n", words.len());
    for word in words {
        command.push_str(&format!("${}\r\n{word}\r\n", word.len()));
    }
    command.into_bytes()
}

fn read(stream: &mut BufReader<TcpStream>, depth: u8) -> io::Result<Reply> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let line = line.trim_end();
    let (kind, rest) = line.split_at_checked(1).ok_or_else(malformed)?;
    let length = || rest.parse::<i64>().map_err(|_| malformed());
    Ok(match kind {
        "+" => Reply::Status(rest.into()),
        "-" => Reply::Error(rest.into()),
        ":" => Reply::Integer(length()?),
        "$" => u64::try_from(length()?).map_or(Ok(Reply::Nil), |length| bulk(stream, length))?,
        "*" if depth > 0 => match u64::try_from(length()?) {
            Ok(count) => {
                (0..count).map(|_| read(stream, depth - 1)).collect::<io::Result<_>>().map(Reply::Array)?
            }
            Err(_) => Reply::Nil,
        },
        _ => return Err(malformed()),
    })
}

fn bulk(stream: &mut BufReader<TcpStream>, length: u64) -> io::Result<Reply> {
    if length > LONGEST {
        return Err(malformed());
    }
    let mut bytes = Vec::new();
    stream.by_ref().take(length + 2).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != length + 2 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    bytes.truncate(bytes.len() - 2);
    Ok(Reply::Bulk(bytes))
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "this is not Redis's protocol")
}
