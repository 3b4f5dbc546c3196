//! As much of PostgreSQL's protocol as a rig needs for itself: connect as the trusted superuser, send SQL, read rows
//! of text. A rig knows no client library, so that it can stand under the tests of any.

use std::{
    io::{self, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
};

use super::USER;
use crate::{Result, RigError, server::connect};

const PROTOCOL_3: u32 = 196_608;
/// More than any answer that a rig asks for; it bounds what a confused peer can make us read.
const LONGEST_MESSAGE: u32 = 64 << 20;

type Row = Vec<Option<String>>;

pub(crate) fn ask(address: SocketAddr, database: &str, sql: &str) -> Result<Vec<Row>> {
    let talk = || -> io::Result<Result<Vec<Row>, String>> {
        let mut session = Session::open(address, database)?;
        if let Err(said) = session.answer()? {
            return Ok(Err(said));
        }
        session.send(Some(b'Q'), &[sql.as_bytes(), b"\0"].concat())?;
        session.answer()
    };
    let answer = talk().map_err(RigError::io(format!("asking PostgreSQL for {sql}")))?;
    answer.map_err(|said| RigError::Refused { command: sql.into(), said })
}

struct Session {
    stream: BufReader<TcpStream>,
}

impl Session {
    fn open(address: SocketAddr, database: &str) -> io::Result<Self> {
        let mut session = Self { stream: BufReader::new(connect(address)?) };
        let mut hello = PROTOCOL_3.to_be_bytes().to_vec();
        for word in ["user", USER, "database", database, ""] {
            hello.extend_from_slice(word.as_bytes());
            hello.push(0);
        }
        session.send(None, &hello)?;
        Ok(session)
    }

    fn send(&mut self, kind: Option<u8>, body: &[u8]) -> io::Result<()> {
        let length = u32::try_from(body.len() + 4).map_err(io::Error::other)?;
        let mut message: Vec<u8> = kind.into_iter().collect();
        message.extend_from_slice(&length.to_be_bytes());
        message.extend_from_slice(body);
        self.stream.get_mut().write_all(&message)
    }

    /// Everything until the server is ready for the next question: rows, or what it complained of.
    fn answer(&mut self) -> io::Result<Result<Vec<Row>, String>> {
        let (mut rows, mut complaint) = (Vec::new(), None);
        loop {
            let (kind, body) = match self.message() {
                Err(cut) if complaint.is_none() => return Err(cut),
                // A server that refuses the connection says why and hangs up.
                Err(_) => break,
                Ok(message) => message,
            };
            match kind {
                b'D' => rows.push(row(&body)?),
                b'E' => complaint = Some(words(&body)),
                b'Z' => break,
                _ => {}
            }
        }
        Ok(complaint.map_or(Ok(rows), Err))
    }

    fn message(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head)?;
        let [kind, length @ ..] = head;
        let length = u32::from_be_bytes(length);
        if !(4..=LONGEST_MESSAGE).contains(&length) {
            return Err(malformed());
        }
        let mut body = vec![0; length as usize - 4];
        self.stream.read_exact(&mut body)?;
        Ok((kind, body))
    }
}

/// The fields of a row: a count, then each with its length, −1 for null.
fn row(mut body: &[u8]) -> io::Result<Row> {
    let mut count = [0; 2];
    body.read_exact(&mut count)?;
    let field = |_| {
        let mut length = [0; 4];
        body.read_exact(&mut length)?;
        let Ok(length) = usize::try_from(i32::from_be_bytes(length)) else {
            return Ok(None);
        };
        let (value, rest) = body.split_at_checked(length).ok_or_else(malformed)?;
        body = rest;
        Ok(Some(String::from_utf8_lossy(value).into_owned()))
    };
    (0..u16::from_be_bytes(count)).map(field).collect()
}

/// The code and the message of an error: fields that begin with a letter and end with a zero.
fn words(body: &[u8]) -> String {
    let fields: Vec<_> = body.split(|byte| *byte == 0).filter_map(<[u8]>::split_first).collect();
    let of = |letter| fields.iter().find(|(kind, _)| **kind == letter).map_or(&[][..], |(_, text)| text);
    format!("{} {}", String::from_utf8_lossy(of(b'C')), String::from_utf8_lossy(of(b'M')))
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "this is not PostgreSQL's protocol")
}
