//! One request and response protocol over the one algebra.
