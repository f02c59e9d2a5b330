//! Every kind of link against a peer that does what its script says. Loopback only, no order, no sleeps.

mod bed;
mod era;
mod fixture;
mod http;
mod lists;
mod peer;
mod pool;
mod sse;
mod stdio;
mod unix;
mod witness;
