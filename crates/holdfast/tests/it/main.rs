//! The program as people run it: the real binary, real processes, real files. Each file tells one part of the story;
//! `support` starts and stops things. Nothing here sleeps: a server says when it listens, a process when it ends.

mod demo;
mod doctor;
mod gates;
mod help;
mod import;
mod keys;
mod lab;
mod nodes;
mod payments;
mod postgres;
mod race;
mod room;
mod serve;
mod settings;
mod support;
mod verify;
