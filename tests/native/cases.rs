//! Queries of any kind in one list, for tests that compare reports of the same traces.

use pathlight::base::encoding;
use pathlight::engine::queries::Query;
use pathlight::engine::run::native::NativePool;

/// Runs a query; returns it in words, and its report as bytes.
pub type Case = Box<dyn Fn(&mut NativePool) -> (String, Vec<u8>)>;

/// Returns the case of a query.
pub fn case<Q: Query>(query: Q) -> Case {
    Box::new(move |pool| {
        let report = pool.run(query.clone()).unwrap();
        (format!("{query:?}"), encoding::write(&report))
    })
}
