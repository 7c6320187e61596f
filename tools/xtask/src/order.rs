//! The order of a module's functions in which gzip packs them best: each beside those it shares the most bytes with.
//!
//! The compiler makes thousands of functions that differ in little, copies of generic ones above all. gzip finds what
//! repeats within 32 KiB. So functions are placed one after the other: next comes the one that shares the largest part
//! of its pieces of [`PIECE`] bytes with the last [`WINDOW`] bytes placed. Short ones count as sharing less than they
//! do, so that they do not all come first. Functions are called by number, and only wasm-opt renumbers: here they get
//! names that sort in the new order.

use std::collections::{HashMap, VecDeque};

use wasm_encoder::{Module, NameMap, NameSection, RawSection};
use wasmparser::{Parser, Payload, TypeRef};

/// Fewer bytes are shared by any two functions, more by few.
const PIECE: usize = 7;
/// What gzip looks back at, less what a function adds.
const WINDOW: usize = 30_000;

/// Returns `module` with names of functions that sort as they should stand, and without other custom sections.
pub fn renamed(module: &[u8]) -> wasmparser::Result<Vec<u8>> {
    let (mut out, mut imported, mut bodies) = (Module::new(), 0, Vec::new());
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload?;
        match &payload {
            Payload::CustomSection(_) => continue,
            Payload::ImportSection(section) => {
                for import in section.clone().into_imports() {
                    imported += u32::from(matches!(import?.ty, TypeRef::Func(_)));
                }
            }
            Payload::CodeSectionEntry(body) => bodies.push(body.as_bytes()),
            _ => {}
        }
        // A section that is cut off is an error of the next payload.
        if let Some((id, range)) = payload.as_section()
            && let Some(data) = module.get(range.start as usize..range.end as usize)
        {
            out.section(&RawSection { id, data });
        }
    }
    let mut places: Vec<(usize, usize)> =
        order(&bodies).into_iter().enumerate().map(|(place, function)| (function, place)).collect();
    places.sort_unstable();
    let mut names = NameMap::new();
    for (number, (_, place)) in (imported..).zip(places) {
        names.append(number, &format!("{place:06}"));
    }
    let mut section = NameSection::new();
    section.functions(&names);
    out.section(&section);
    Ok(out.finish())
}

/// Returns the order in which `bodies` should stand.
fn order(bodies: &[&[u8]]) -> Vec<usize> {
    let mut numbers = HashMap::new();
    let pieces: Vec<Vec<usize>> = bodies
        .iter()
        .map(|body| {
            let piece = |bytes: &[u8]| bytes.iter().fold(0_u64, |piece, &byte| piece << 8 | u64::from(byte));
            let new = |bytes| {
                let next = numbers.len();
                *numbers.entry(piece(bytes)).or_insert(next)
            };
            let mut pieces: Vec<usize> = body.windows(PIECE).map(new).collect();
            pieces.sort_unstable();
            pieces.dedup();
            pieces
        })
        .collect();
    let mut holders = vec![Vec::new(); numbers.len()];
    for (function, pieces) in pieces.iter().enumerate() {
        pieces.iter().for_each(|&piece| holders[piece].push(function));
    }
    let weight: Vec<f64> = bodies.iter().map(|body| (body.len() as f64 + 40.0).powf(-0.6)).collect();
    let mut covered = vec![0_u32; bodies.len()];
    let mut seen = vec![0_u32; numbers.len()];
    let (mut window, mut size) = (VecDeque::new(), 0);
    let mut left: Vec<usize> = (0..bodies.len()).collect();
    let mut out = Vec::with_capacity(bodies.len());
    while !left.is_empty() {
        let mut best = (0, 0.0);
        for (place, &function) in left.iter().enumerate() {
            let score = f64::from(covered[function]) * weight[function];
            if score > best.1 {
                best = (place, score);
            }
        }
        let function = left.remove(best.0);
        out.push(function);
        window.push_back(function);
        size += bodies[function].len();
        for &piece in &pieces[function] {
            seen[piece] += 1;
            if seen[piece] == 1 {
                holders[piece].iter().for_each(|&holder| covered[holder] += 1);
            }
        }
        while size > WINDOW && window.len() > 1 {
            let Some(gone) = window.pop_front() else { break };
            size -= bodies[gone].len();
            for &piece in &pieces[gone] {
                seen[piece] -= 1;
                if seen[piece] == 0 {
                    holders[piece].iter().for_each(|&holder| covered[holder] -= 1);
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasm_encoder::{CodeSection, EntityType, FunctionSection, ImportSection};

    /// Returns a module of nothing but an imported function and bodies; wasm-opt would want more.
    fn module(bodies: &[&[u8]]) -> Vec<u8> {
        let mut imports = ImportSection::new();
        imports.import("e", "f", EntityType::Function(0));
        let (mut functions, mut code) = (FunctionSection::new(), CodeSection::new());
        for body in bodies {
            functions.function(0);
            code.raw(body);
        }
        let mut out = Module::new();
        out.section(&imports).section(&functions).section(&code);
        out.finish()
    }

    #[test]
    fn functions_that_share_bytes_stand_beside_each_other() {
        let bodies: [&[u8]; 5] = [
            b"first of all bodies",
            b"the second, other one",
            b"FIRST of all bodies",
            b"?",
            b"the second, OTHER one",
        ];
        assert_eq!(order(&bodies), [0, 2, 1, 4, 3]);
        let renamed = renamed(&module(&bodies)).unwrap();
        assert!(renamed.starts_with(&module(&bodies)));
        // The third function has number 3, after the imported one, and is the second now.
        let names = &renamed[module(&bodies).len()..];
        assert!(names.windows(8).any(|name| name == b"\x03\x06000001"), "{names:?}");
    }

    #[test]
    fn names_there_were_go_and_what_is_no_module_is_an_error() {
        let plain = module(&[b"body"]);
        let named = [&plain[..], b"\0\x08\x04name\x01\x01\0"].concat();
        assert_eq!(renamed(&named).unwrap(), renamed(&plain).unwrap());
        assert!(renamed(b"\0asm").is_err());
        assert!(renamed(&plain[..plain.len() - 2]).is_err());
    }
}
