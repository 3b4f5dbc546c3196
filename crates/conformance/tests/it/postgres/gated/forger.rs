//! Stands before Redis and has other scripts run than were asked for: how a mistake gets into the gates' own scripts
//! without a switch for it in production code.
//!
//! Clients name a script by its hash. The forger puts the hash of another, which is on the server already, in its
//! place; it has the same length, so that nothing else in the stream changes.

use std::{fs, io, net::SocketAddr, path::Path, sync::Arc};

use holdfast_rigs::Redis;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    task::{JoinHandle, JoinSet},
};

/// A piece of a script, and what stands in its place. Wherever the piece occurs.
pub(super) type Mistake = (&'static str, &'static str);

/// The hash that is asked for, and the one that is run instead.
type Swap = (Vec<u8>, Vec<u8>);

pub(super) struct Forger {
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Forger {
    pub(super) async fn before(redis: &Redis, mistakes: &[Mistake]) -> Self {
        let swaps: Arc<[Swap]> = swaps(redis, mistakes).into();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let accepting = tokio::spawn(accept(listener, redis.address(), swaps));
        Self { address, accepting }
    }

    pub(super) fn url(&self) -> String {
        format!("redis://{}", self.address)
    }
}

impl Drop for Forger {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// The gates' scripts as they are put together in the engine: those of the slate have a text before them that reads it,
/// those that change it another behind that, and judges one more at the end.
fn scripts() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/src/gate/redis");
    let read = |path: &Path| fs::read_to_string(path).expect("a script");
    let in_folder = |folder: &Path| -> Vec<_> {
        let files = fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path());
        files.filter(|path| path.extension().is_some_and(|extension| extension == "lua")).collect()
    };
    let reading = read(&folder.join("slate/slate.lua"));
    let writing = format!("{reading}\n{}", read(&folder.join("slate/write.lua")));
    let files = [in_folder(&folder), in_folder(&folder.join("slate"))].concat();
    let alone = files.iter().map(|path| read(path));
    let looking = files.iter().map(|path| format!("{reading}\n{}", read(path)));
    let changing = files.iter().map(|path| format!("{writing}\n{}", read(path)));
    let asking = read(&folder.join("slate/ask.lua"));
    let judges = files.iter().map(|path| format!("{writing}\n{}\n{asking}", read(path)));
    alone.chain(looking).chain(changing).chain(judges).collect()
}

/// Puts every script that changes by these mistakes on the server.
fn swaps(redis: &Redis, mistakes: &[Mistake]) -> Vec<Swap> {
    let mut swaps = Vec::new();
    let texts = scripts();
    for (piece, _) in mistakes {
        assert!(texts.iter().any(|text| text.contains(piece)), "no script says {piece:?} any more");
    }
    for right in texts {
        let wrong =
            mistakes.iter().fold(right.clone(), |text, (piece, instead)| text.replace(piece, instead));
        if wrong != right {
            // What is no script by itself cannot be loaded, and is never asked for.
            let load = |text: &str| {
                let hash = redis.ask(&["SCRIPT", "LOAD", text]).ok()?;
                Some(hash.text()?.as_bytes().to_vec())
            };
            swaps.extend(load(&right).zip(load(&wrong)));
        }
    }
    assert!(mistakes.is_empty() || !swaps.is_empty(), "no script can be exchanged");
    swaps
}

async fn accept(listener: TcpListener, target: SocketAddr, swaps: Arc<[Swap]>) {
    let mut lines = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let Ok(server) = TcpStream::connect(target).await else { continue };
        let (swaps, (from_client, to_client)) = (Arc::clone(&swaps), client.into_split());
        let (from_server, to_server) = server.into_split();
        lines.spawn(forge(from_client, to_server, swaps));
        lines.spawn(forge(from_server, to_client, [].into()));
    }
}

async fn forge(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, swaps: Arc<[Swap]>) -> io::Result<()> {
    let (mut buffer, mut kept) = ([0; 16 << 10], Vec::new());
    loop {
        let length = from.read(&mut buffer).await?;
        if length == 0 {
            return to.shutdown().await;
        }
        kept.extend_from_slice(&buffer[..length]);
        swaps.iter().for_each(|swap| exchange(&mut kept, swap));
        let whole = kept.len() - begun(&kept, &swaps);
        to.write_all(&kept[..whole]).await?;
        kept.drain(..whole);
    }
}

fn exchange(bytes: &mut [u8], (right, wrong): &Swap) {
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(right.len()).position(|window| window == right) {
        bytes[at + found..][..wrong.len()].copy_from_slice(wrong);
        at += found + wrong.len();
    }
}

/// How many bytes at the end may be the beginning of a hash: they wait for the rest of it.
fn begun(bytes: &[u8], swaps: &[Swap]) -> usize {
    let begins = |length: &usize| swaps.iter().any(|(right, _)| bytes.ends_with(&right[..*length]));
    (1..40usize.min(bytes.len() + 1)).rev().find(begins).unwrap_or(0)
}
