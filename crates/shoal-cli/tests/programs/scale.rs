//! Configurations, memory that may be left out, 16-bit floats, errors and threads, over the modules that were emitted.

mod scale {
    include!(concat!(env!("OUT_DIR"), "/scale.rs"));
}
mod guarded {
    include!(concat!(env!("OUT_DIR"), "/guarded.rs"));
}

use scale::{Config, scale};
use shoal_runtime::Error;
use shoal_runtime::half::f16;

const N: usize = 37;

/// One launch with bias and one without; the last element tells the configuration.
fn launches() -> Result<(), Error> {
    let x = vec![f16::from_f32(1.5); 2 * N];
    let bias: Vec<f32> = (0..N).map(|i| i as f32).collect();
    let mut out = vec![0.0; N + 1];
    scale((3,), Config::BLOCK_16, &x, Some(&bias), &mut out, N as i32, 2, 4.0, true)?;
    assert_eq!((out[0], out[N - 1], out[N]), (-6.0, -42.0, 16.0));
    scale(1, Config::BLOCK_64, &x, None, &mut out, N as i32, 1, 0.5, false)?;
    assert_eq!((out[0], out[N - 1], out[N]), (0.75, 0.75, 64.0));
    Ok(())
}

fn main() -> Result<(), Error> {
    scale::load()?;
    launches()?;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..50).for_each(|_| launches().unwrap()));
        }
    });
    // In configuration 64 nothing was compiled for memory as bias.
    let (x, bias, mut out) = (vec![f16::ONE; N], vec![0.0; N], vec![0.0; N + 1]);
    let wrong = scale(1, Config::BLOCK_64, &x, Some(&bias), &mut out, N as i32, 1, 1.0, false).unwrap_err();
    assert!(matches!(wrong, Error::NoVariant { .. }), "{wrong}");
    let mut negative = vec![-1i32; 32];
    println!("{}", guarded::guarded(2, &mut negative, 32).unwrap_err());
    Ok(())
}
