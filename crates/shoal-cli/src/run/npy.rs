//! NumPy's file format, version 1 to 3, for dense arrays in row-major order.

use shoal::{DType, Error, Tensor};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Reads an array; the error says what is wrong with the file.
pub(crate) fn read(content: &[u8]) -> Result<Tensor, String> {
    let rest = content.strip_prefix(MAGIC).ok_or("this is not a NumPy file")?;
    let (version, rest) = rest.split_at_checked(2).ok_or("the file is cut short")?;
    let (len, rest) = match version[0] {
        1 => {
            let (len, rest) = rest.split_first_chunk::<2>().ok_or("the file is cut short")?;
            (u32::from(u16::from_le_bytes(*len)), rest)
        }
        2 | 3 => {
            let (len, rest) = rest.split_first_chunk::<4>().ok_or("the file is cut short")?;
            (u32::from_le_bytes(*len), rest)
        }
        other => return Err(format!("version {other} of the format is not known")),
    };
    let (header, data) = rest.split_at_checked(len as usize).ok_or("the file is cut short")?;
    let header = String::from_utf8_lossy(header);
    let descr = quoted(after(&header, "'descr':")?)?;
    let dtype = ELEMENTS.iter().find(|(code, _)| *code == descr).map(|(_, dtype)| *dtype);
    let dtype = dtype.ok_or_else(|| format!("elements of type `{descr}` are not supported"))?;
    if after(&header, "'fortran_order':")?.trim_start().starts_with("True") {
        return Err("the array is stored column by column; save it with np.ascontiguousarray".into());
    }
    let shape = after(&header, "'shape':")?;
    let shape = shape.trim_start().strip_prefix('(').and_then(|s| s.split_once(')')).ok_or("there is no shape")?.0;
    let sides: Result<Vec<usize>, _> =
        shape.split(',').map(str::trim).filter(|side| !side.is_empty()).map(str::parse).collect();
    let sides = sides.map_err(|_| format!("the shape ({shape}) cannot be read"))?;
    let mut tensor = Tensor::zeros(dtype, &sides).map_err(|error| error.to_string())?;
    if tensor.bytes().len() != data.len() {
        return Err(format!("{} bytes of data were expected, but there are {}", tensor.bytes().len(), data.len()));
    }
    tensor.bytes_mut().copy_from_slice(data);
    Ok(tensor)
}

/// Writes an array. Types that NumPy does not have are widened to `float32`.
pub(crate) fn write(tensor: &Tensor) -> Result<Vec<u8>, Error> {
    let wide;
    let tensor = if code(tensor.dtype()).is_some() {
        tensor
    } else {
        wide = Tensor::from_f64(DType::F32, tensor.shape(), &tensor.to_f64())?;
        &wide
    };
    let descr = code(tensor.dtype()).unwrap_or("<f4");
    let shape: String = tensor.shape().iter().map(|side| format!("{side}, ")).collect();
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}", shape.trim_end());
    // The data starts at a multiple of 64 bytes.
    let unpadded = MAGIC.len() + 4 + header.len() + 1;
    header.push_str(&" ".repeat(unpadded.next_multiple_of(64) - unpadded));
    header.push('\n');
    let mut file = MAGIC.to_vec();
    file.extend([1, 0]);
    file.extend(u16::try_from(header.len()).unwrap_or(u16::MAX).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(tensor.bytes());
    Ok(file)
}

const ELEMENTS: &[(&str, DType)] = &[
    ("|b1", DType::I1),
    ("|i1", DType::I8),
    ("<i2", DType::I16),
    ("<i4", DType::I32),
    ("<i8", DType::I64),
    ("|u1", DType::U8),
    ("<u2", DType::U16),
    ("<u4", DType::U32),
    ("<u8", DType::U64),
    ("<f2", DType::F16),
    ("<f4", DType::F32),
    ("<f8", DType::F64),
];

fn code(dtype: DType) -> Option<&'static str> {
    ELEMENTS.iter().find(|(_, d)| *d == dtype).map(|(code, _)| *code)
}

fn after<'a>(header: &'a str, key: &str) -> Result<&'a str, String> {
    header.split_once(key).map(|(_, rest)| rest).ok_or_else(|| format!("the header has no {key}"))
}

fn quoted(text: &str) -> Result<&str, String> {
    text.split('\'').nth(1).ok_or_else(|| "the header cannot be read".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_round_trip() {
        let tensor = Tensor::from_slice(&[1.5f32, -2.0, 3.0, 4.0, 5.0, 6.0]).unwrap().reshaped(&[2, 3]).unwrap();
        let file = write(&tensor).unwrap();
        assert_eq!(file.len() % 64, 24);
        let back = read(&file).unwrap();
        assert_eq!(back.shape(), [2, 3]);
        assert_eq!(back.to_f64(), tensor.to_f64());
        let half = Tensor::from_f64(DType::BF16, &[1], &[0.5]).unwrap();
        assert_eq!(read(&write(&half).unwrap()).unwrap().dtype(), DType::F32);
    }

    #[test]
    fn damaged_files_are_refused() {
        let file = write(&Tensor::from_slice(&[1i64, 2]).unwrap()).unwrap();
        for len in 0..file.len() {
            assert!(read(&file[..len]).is_err(), "{len} bytes");
        }
        assert_eq!(read(b"PK").unwrap_err(), "this is not a NumPy file");
    }
}
