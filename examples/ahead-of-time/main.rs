mod add {
    include!(concat!(env!("OUT_DIR"), "/add.rs"));
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let y = vec![1.0; 1000];
    let mut out = vec![0.0; 1000];
    let grid = x.len().div_ceil(usize::try_from(add::BLOCK)?);
    add::add(grid, &x, &y, &mut out, 1000)?;
    let variant = add::variant(&x, &y, &mut out, 1000)?;
    println!("{} by {variant}", out[999]);
    Ok(())
}
