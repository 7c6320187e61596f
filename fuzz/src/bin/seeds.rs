//! Writes the seeds of every target into `corpus/`.

use pathlight_fuzz::replay::TARGETS;

fn main() -> std::io::Result<()> {
    for (name, texts) in TARGETS {
        let folder = format!("{}/corpus/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::create_dir_all(&folder)?;
        for (number, text) in texts().into_iter().enumerate() {
            std::fs::write(format!("{folder}/seed-{number}"), text)?;
        }
    }
    Ok(())
}
