//! Contiguity through operations that only move elements.

use shoal_ir::Type;

use super::info::AxisInfo;

/// A scalar everywhere.
pub(super) fn splat(ty: &Type, scalar: &AxisInfo) -> AxisInfo {
    let mut info = AxisInfo::uniform(ty, scalar.divisibility[0]);
    info.constant = scalar.constant;
    info.non_negative = scalar.non_negative;
    info
}

/// Repeated dimensions become runs of equal elements.
pub(super) fn broadcast(ty: &Type, from: &Type, operand: &AxisInfo) -> AxisInfo {
    let mut info = operand.clone();
    for (dim, (&new, &old)) in ty.shape().iter().zip(from.shape()).enumerate() {
        if new != old {
            info.constancy[dim] = u64::from(new);
        }
    }
    info
}

/// Dimensions change places.
pub(super) fn transpose(perm: &[u8], operand: &AxisInfo) -> AxisInfo {
    let mut info = operand.clone();
    for (dim, &from) in perm.iter().enumerate() {
        let from = usize::from(from);
        info.contiguity[dim] = operand.contiguity[from];
        info.divisibility[dim] = operand.divisibility[from];
        info.constancy[dim] = operand.constancy[from];
    }
    info
}

/// Dimensions that keep their size (others of size 1 coming and going around them) keep what is known of them. Else
/// only the last dimension, whose runs stay runs as far as the new one reaches.
pub(super) fn reshape(ty: &Type, from: &Type, operand: &AxisInfo) -> AxisInfo {
    let of_all = operand.divisibility_of_all();
    let mut info = AxisInfo::unknown(ty);
    info.divisibility.fill(of_all);
    info.constant = operand.constant;
    info.non_negative = operand.non_negative;
    let (new, old) = (ty.shape(), from.shape());
    if new.is_empty() || old.is_empty() {
        return info;
    }
    if equal_everywhere(old, operand) {
        for (dim, &size) in new.iter().enumerate() {
            info.constancy[dim] = u64::from(size);
        }
    }
    let large = |shape: &[u32]| -> Vec<usize> { (0..shape.len()).filter(|&dim| shape[dim] > 1).collect() };
    let (new_dims, old_dims) = (large(new), large(old));
    let same = new_dims.len() == old_dims.len() && new_dims.iter().zip(&old_dims).all(|(&n, &o)| new[n] == old[o]);
    if same {
        for (&dim, &from) in new_dims.iter().zip(&old_dims) {
            copy_dim(&mut info, dim, operand, from, u64::from(new[dim]));
        }
    } else if let (Some(&dim), Some(&from)) = (new_dims.last(), old_dims.last()) {
        copy_dim(&mut info, dim, operand, from, u64::from(new[dim]));
    }
    info
}

fn equal_everywhere(shape: &[u32], info: &AxisInfo) -> bool {
    shape.iter().enumerate().all(|(dim, &size)| info.constancy[dim] >= u64::from(size))
}

fn copy_dim(info: &mut AxisInfo, dim: usize, operand: &AxisInfo, from: usize, size: u64) {
    let run = operand.contiguity[from].min(size);
    info.contiguity[dim] = run;
    info.divisibility[dim] = operand.divisibility_at(from, run);
    info.constancy[dim] = info.constancy[dim].max(operand.constancy[from].min(size));
}
