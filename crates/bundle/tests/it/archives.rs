//! Archives that try to do more than be unpacked.
