//! What is written to providers and read from them.
