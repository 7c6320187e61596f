//! The shape of JSON documents, whatever they hold.

pub(crate) mod keys;
pub(crate) mod lists;
pub(crate) mod memo;
pub(crate) mod node;
pub(crate) mod view;
pub(crate) mod walk;
