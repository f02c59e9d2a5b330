//! From a folder or an archive to running servers, and back to nothing.
