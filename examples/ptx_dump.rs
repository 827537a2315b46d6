//! Scratch: PTX of kernels with a number of warps and stages.
use std::io::Write;
fn main() {
    // lines on stdin: name|file:kernel|target|signature|warps|stages
    let out = std::env::args().nth(1).unwrap();
    for line in std::io::read_to_string(std::io::stdin()).unwrap().lines() {
        let p: Vec<&str> = line.split('|').collect();
        if p.len() < 6 { continue; }
        let (file, kernel) = p[1].split_once(':').unwrap();
        let run = || -> Result<(Vec<u8>, Vec<u8>), String> {
            let text = |e: shoal::Error| e.to_string();
            let k = shoal::Module::from_file(file).map_err(text)?.kernel(kernel).map_err(text)?;
            let k = k.with(shoal::CompileOptions { ..Default::default() });
            // SAFETY: single-threaded
            unsafe { std::env::set_var("TMP_WARPS", p[4]); std::env::set_var("TMP_STAGES", p[5]); }
            let specs = k.read_signature(p[3]).map_err(text)?;
            let t: shoal::Target = p[2].parse().unwrap();
            let opt = k.emit(&specs, shoal::Stage::Optimised, &t).map_err(text)?;
            let start = std::time::Instant::now();
            let ptx = k.emit(&specs, shoal::Stage::Asm, &t).map_err(text)?;
            eprintln!("{} {:?}", p[0], start.elapsed());
            Ok((opt, ptx))
        };
        match std::panic::catch_unwind(run) {
            Ok(Ok((opt, ptx))) => {
                std::fs::File::create(format!("{out}/{}.ptx", p[0])).unwrap().write_all(&ptx).unwrap();
                std::fs::File::create(format!("{out}/{}.tile", p[0])).unwrap().write_all(&opt).unwrap();
            }
            Ok(Err(e)) => println!("{} FAILED {}", p[0], e.lines().take(8).collect::<Vec<_>>().join("\n")),
            Err(_) => println!("{} PANICKED", p[0]),
        }
    }
}
