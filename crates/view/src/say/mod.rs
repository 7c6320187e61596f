//! Sentences built from parts, the glossary, tips, and the words for a selection.

pub mod glossary;
pub mod request_types;
pub mod selection;
pub mod sentence;
pub mod subject;
pub mod tip;
