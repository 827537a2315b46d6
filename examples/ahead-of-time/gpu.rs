mod add {
    include!(concat!(env!("OUT_DIR"), "/add.rs"));
}

use shoal_runtime::cuda::{CudaBuffer, CudaDevice, StreamRef};

fn main() {
    if let Err(error) = run() {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let device = CudaDevice::new(0)?;
    let stream = StreamRef::default_of(device);
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let (x, y) = (CudaBuffer::from_slice(stream, &x)?, CudaBuffer::from_slice(stream, &vec![1.0; 1000])?);
    let mut out = CudaBuffer::poisoned(stream, 1000)?;
    let grid = x.len().div_ceil(usize::try_from(add::BLOCK)?);
    add::add(stream, grid, &x, &y, &mut out, 1000)?;
    let mut result = vec![0.0; 1000];
    out.copy_to(stream, &mut result)?;
    let variant = add::variant(device, &x, &y, &mut out, 1000)?;
    println!("{} by {variant}", result[999]);
    Ok(())
}
