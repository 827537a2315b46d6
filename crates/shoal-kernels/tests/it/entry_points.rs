//! What the entry points promise beyond their references.

use shoal::{DType, Device, Tensor};
use shoal_kernels::dropout::dropout;
use shoal_kernels::layer_norm::Backward;
use shoal_kernels::{Library, Source, Workload, find};

#[test]
fn every_file_parses_and_has_kernels() {
    for source in Source::ALL {
        let module = source.module().unwrap();
        assert!(!module.kernels().is_empty(), "{}", source.file());
    }
}

#[test]
fn programs_that_wait_for_each_other_finish_on_one_thread() {
    let library = Library::on(Device::cpu_with_threads(1).unwrap());
    let workload = Backward::new(100, 64, DType::F32).unwrap();
    workload.run(&library).unwrap();
    for checked in workload.check() {
        assert!(checked.passed(), "{checked:?}");
    }
}

#[test]
fn the_same_seed_drops_the_same_elements() {
    let library = Library::on(Device::cpu());
    let x = Tensor::from_slice(&[1.0f32; 4096]).unwrap();
    let run = |seed| {
        let out = Tensor::poisoned(DType::F32, &[4096]).unwrap();
        dropout(&library, &x, &out, 0.5, seed).unwrap();
        out.as_slice::<f32>().unwrap().to_vec()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    let kept = run(3).iter().filter(|&&v| v != 0.0).count();
    assert!((1800..2300).contains(&kept), "{kept}");
}

#[test]
fn wrong_sizes_are_refused() {
    let matmul = find("matmul").unwrap();
    let error = matmul.workload(&[1, 2], DType::F32).err().unwrap();
    assert_eq!(error.to_string(), "matmul takes the sizes m × n × k, each at least 1, not [1, 2]");
    assert!(matmul.workload(&[1, 0, 2], DType::F32).is_err());
}
