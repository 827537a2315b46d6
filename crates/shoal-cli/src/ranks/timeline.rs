//! What all ranks did, as a trace and as pictures.

use std::path::{Path, PathBuf};

use shoal::profile::{Profile, Track};
use shoal::world::Rank;

use crate::failure::{Failure, write};

/// Everybody's tracks. Collective over the world.
pub(crate) fn gather(rank: &Rank, tracks: &[Track]) -> Result<Profile, Failure> {
    let unreadable = |why: serde_json::Error| Failure::new(format!("a rank's tracks cannot be read: {why}"));
    let bytes = serde_json::to_vec(tracks).map_err(unreadable)?;
    let all = rank.world().all_gather(&bytes)?;
    let ranks = all.iter().map(|bytes| serde_json::from_slice(bytes).map_err(unreadable)).collect::<Result<_, _>>()?;
    Ok(Profile { ranks })
}

/// Writes NAME.json, NAME.svg, NAME.png and NAME.html, in a new folder if there is none, and says so.
pub(crate) fn save(profile: &Profile, title: &str, name: &Path) -> Result<(), Failure> {
    let file = |ending: &str| {
        let mut file = name.as_os_str().to_owned();
        file.push(ending);
        PathBuf::from(file)
    };
    let hidden = profile
        .overlap("copy", "multiply")
        .map(|share| format!("{:.0} % of the time of copies is hidden behind products", 100.0 * share));
    let title = hidden.as_ref().map_or_else(|| title.to_owned(), |hidden| format!("{title}: {hidden}"));
    if let Some(folder) = name.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|why| Failure::new(format!("cannot make {}: {why}", folder.display())))?;
    }
    write(&file(".json"), profile.to_perfetto_json())?;
    write(&file(".svg"), profile.to_svg(&title))?;
    write(&file(".png"), profile.to_png(&title))?;
    write(&file(".html"), profile.to_html(&title))?;
    if let Some(hidden) = hidden {
        outln!("{hidden}");
    }
    outln!(
        "timeline: {} and {} (a picture), {} (a page), {} (for ui.perfetto.dev)",
        file(".svg").display(),
        file(".png").display(),
        file(".html").display(),
        file(".json").display()
    );
    Ok(())
}
