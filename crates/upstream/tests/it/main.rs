//! Every kind of link against a peer that does what its script says. Loopback only, no order, no sleeps.

mod asks;
mod bed;
mod era;
mod fixture;
mod guard;
mod http;
mod line_peer;
mod lists;
mod look;
mod peer;
mod pool;
mod sse;
mod stdio;
mod together;
mod tokens;
mod unix;
mod watch;
mod witness;
