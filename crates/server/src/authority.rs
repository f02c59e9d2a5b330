//! The hub as an authorization server of its own, small enough to read: hosted clients sign in to it with nothing
//! else installed. Only where several people share a hub; a solo hub has its key.
//!
//! A client is known by registering itself (RFC 7591) or by a document it publishes. It sends a person's browser to
//! `/oauth/authorize`; the person signs in, sees who asks for what, and allows or denies it. The client gets a code,
//! and for the code a short-lived token and one to renew it. Every one of these is random, kept as a digest, and good
//! for one person, client, resource and set of instances. Renewing one twice ends all.

pub mod client;
pub mod params;
pub mod proof;
pub mod redirect;
pub mod resource;
pub mod scope;
