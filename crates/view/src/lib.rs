//! What a person reads, without a browser: the address of the page, the choices of its views, sentences and tables, public
//! JSON, saved reports, and the messages of a page around it.

pub mod address;
pub mod choices;
pub mod comparing;
pub mod contract;
pub mod diagnosis_choice;
pub mod diagnosis_tree;
pub mod diagnosis_words;
pub mod error_words;
pub mod flow_choice;
pub mod json;
mod normal;
pub mod saved;
pub mod summary;
pub mod table;
pub mod views;
