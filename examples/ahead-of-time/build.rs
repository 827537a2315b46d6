use shoal::aot::Build;

fn main() -> Result<(), shoal::Error> {
    Build::from_file("examples/add.py", "add")?
        .signature("*kfp32:16, *kfp32:16, *fp32:16, i32:16, 1024")
        .signature("*kfp32, *kfp32, *fp32, i32, 1024")
        .target("x86-64-v3")
        .target("generic")
        .for_cargo()?;
    Ok(())
}
