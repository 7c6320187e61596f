//! Bytes as text that may stand in a `<script>` data block of a UTF-8 page: seven bits a character, an eighth more than
//! the bytes where base64 is a third more.
//!
//! A script's text holds any character but NUL and CR, which the browser replaces, and `<`, which might end it. Of these
//! three the n-th comes together with the seven bits behind it, as character 128 (n + 1) + bits, or as 512 + n if nothing
//! is behind it. Every such character has two bytes in UTF-8, so nothing is lost. `www/boot.js` reads it.

/// Bytes that no character may be.
const BARRED: [u8; 3] = [0, b'\r', b'<'];

/// Returns the text for these bytes.
pub fn dense(bytes: &[u8]) -> String {
    let mut sevens = Vec::with_capacity(bytes.len() * 8 / 7 + 1);
    let (mut held, mut count) = (0u32, 0);
    for &byte in bytes {
        held = held << 8 | u32::from(byte);
        count += 8;
        while count >= 7 {
            count -= 7;
            sevens.push((held >> count & 127) as u8);
        }
    }
    if count > 0 {
        sevens.push((held << (7 - count) & 127) as u8);
    }
    let mut out = String::with_capacity(sevens.len());
    let mut rest = sevens.into_iter();
    while let Some(seven) = rest.next() {
        let code = match BARRED.iter().position(|&barred| barred == seven) {
            None => u32::from(seven),
            Some(n) => rest.next().map_or(512 + n as u32, |next| 128 * (n as u32 + 1) + u32::from(next)),
        };
        out.extend(char::from_u32(code));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unpacks as `www/boot.js` does.
    fn loose(text: &str) -> Vec<u8> {
        let mut bits = Vec::new();
        let mut take = |seven: u32| bits.extend((0..7).rev().map(|bit| seven >> bit & 1));
        for code in text.chars().map(u32::from) {
            match code {
                0..128 => take(code),
                128..512 => [u32::from(BARRED[code as usize / 128 - 1]), code & 127]
                    .map(&mut take)
                    .into_iter()
                    .collect(),
                _ => take(u32::from(BARRED[code as usize - 512])),
            }
        }
        bits.chunks_exact(8).map(|byte| byte.iter().fold(0, |sum, bit| sum << 1 | *bit as u8)).collect()
    }

    #[test]
    fn it_holds_nothing_that_a_script_element_does_not_and_loses_nothing() {
        let mut all: Vec<u8> = (0..=255).flat_map(|a| (0..=255).map(move |b| a ^ b)).collect();
        for (pattern, times) in [(0u8, 9), (0x3c, 16), (0xff, 7), (0x1a, 8), (0x78, 8)] {
            all.extend(std::iter::repeat_n(pattern, times));
        }
        for end in (0..64).chain([all.len()]) {
            for start in 0..3.min(end + 1) {
                let bytes = &all[start.min(end)..end];
                let text = dense(bytes);
                assert!(!text.contains(['\0', '\r', '<']));
                assert_eq!(loose(&text), bytes, "{start}..{end}");
            }
        }
        assert_eq!(loose(&dense(&[0; 21])), [0; 21]);
    }

    #[test]
    fn it_takes_an_eighth_more_than_the_bytes() {
        // 7 bytes are 8 characters; "Man" is 0100110 1011000 0101101 110....
        assert_eq!(dense(b"Man"), "&X-`");
        assert_eq!(dense(&[0x55; 7000]).len(), 8000);
        assert_eq!(dense(&[0; 7000]).len(), 8000);
    }
}
