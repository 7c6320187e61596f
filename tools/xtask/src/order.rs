//! The order of a module's functions in which gzip packs them best: each beside those it shares the most bytes with.
//!
//! The compiler makes thousands of functions that differ in little, copies of generic ones above all. gzip finds what
//! repeats within 32 KiB. So functions are placed one after the other: next comes the one that shares the largest part
//! of its pieces of [`PIECE`] bytes with the last [`WINDOW`] bytes placed. Short ones count as sharing less than they
//! do, so that they do not all come first. Functions are called by number, and only wasm-opt renumbers: here they get
//! names that sort in the new order.

use std::collections::{HashMap, VecDeque};

/// Fewer bytes are shared by any two functions, more by few.
const PIECE: usize = 7;
/// What gzip looks back at, less what a function adds.
const WINDOW: usize = 30_000;

/// Returns `module` with names of functions that sort as they should stand; `None` if it is no wasm module.
pub fn renamed(module: &[u8]) -> Option<Vec<u8>> {
    let (head, mut rest) = module.split_at_checked(8)?;
    let (mut out, mut imported, mut bodies) = (head.to_vec(), 0, Vec::new());
    while let Some((&id, after)) = rest.split_first() {
        let mut at = after;
        let section = bytes(&mut at)?;
        let whole = &rest[..rest.len() - at.len()];
        rest = at;
        let mut content = section;
        match id {
            0 if bytes(&mut content)? == b"name" => continue,
            2 => imported = functions_imported(content)?,
            10 => bodies = (0..number(&mut content)?).map(|_| bytes(&mut content)).collect::<Option<_>>()?,
            _ => {}
        }
        out.extend_from_slice(whole);
    }
    let mut names = Vec::new();
    push(&mut names, bodies.len());
    let mut places: Vec<(usize, usize)> =
        order(&bodies).into_iter().enumerate().map(|(place, function)| (function, place)).collect();
    places.sort_unstable();
    for (function, place) in places {
        push(&mut names, imported + function);
        push_bytes(&mut names, format!("{place:06}").as_bytes());
    }
    let mut section = Vec::new();
    push_bytes(&mut section, b"name");
    section.push(1);
    push_bytes(&mut section, &names);
    out.push(0);
    push_bytes(&mut out, &section);
    Some(out)
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

/// Returns how many of the imports are functions, which are numbered before all others.
fn functions_imported(mut section: &[u8]) -> Option<usize> {
    let mut functions = 0;
    for _ in 0..number(&mut section)? {
        bytes(&mut section)?;
        bytes(&mut section)?;
        // The kind, then the type of a function, or of a table or memory with its limits, or of a global.
        let numbers = match number(&mut section)? {
            0 => {
                functions += 1;
                1
            }
            kind @ (1 | 2) => {
                if kind == 1 {
                    number(&mut section)?;
                }
                1 + number(&mut section)? % 2
            }
            _ => 2,
        };
        for _ in 0..numbers {
            number(&mut section)?;
        }
    }
    Some(functions)
}

/// Takes an unsigned LEB128.
fn number(bytes: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for shift in (0..u32::BITS).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Takes as many bytes as a number before them says.
fn bytes<'a>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = number(from)?;
    let (taken, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some(taken)
}

fn push(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    push(out, bytes.len());
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a module of nothing but an imported function and bodies; wasm-opt would want more.
    fn module(bodies: &[&[u8]]) -> Vec<u8> {
        let mut code = Vec::new();
        push(&mut code, bodies.len());
        bodies.iter().for_each(|body| push_bytes(&mut code, body));
        let mut out = b"\0asm\x01\0\0\0".to_vec();
        for (id, content) in [(2, b"\x02\x01e\x01f\x00\x00\x01e\x01m\x02\x00\x01".as_slice()), (10, &code)] {
            out.push(id);
            push_bytes(&mut out, content);
        }
        out
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
    fn names_there_were_go_and_what_is_no_module_is_said_to_be_none() {
        let plain = module(&[b"body"]);
        let named = [&plain[..], b"\0\x08\x04name\x01\x01\0"].concat();
        assert_eq!(renamed(&named), renamed(&plain));
        assert_eq!(renamed(b"\0asm"), None);
        assert_eq!(renamed(&plain[..plain.len() - 2]), None);
    }
}
