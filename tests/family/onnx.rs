//! ONNX's own node tests, from `tests/data/onnx_node_tests.txt`.

use std::collections::HashMap;
use std::str::FromStr;

use ndarray::ArrayD;
use opkernels::{OutOfBounds, Reduction};

use crate::common::oracle::{Kind, Reducing};
use crate::common::{Reduce, assert_same, calls};

/// A test of one node.
#[derive(Debug, Default)]
struct Test<'t> {
    name: &'t str,
    operator: &'t str,
    attributes: HashMap<&'t str, &'t str>,
    /// The inputs and the output: type, shape and values.
    arrays: Vec<[&'t str; 3]>,
}

fn tests(text: &str) -> Vec<Test<'_>> {
    let mut tests: Vec<Test<'_>> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["test", name, operator] => tests.push(Test { name, operator, ..Test::default() }),
            ["attribute", name, value] => {
                tests.last_mut().unwrap().attributes.insert(name, value);
            }
            ["input" | "output", element, shape, values] => {
                tests.last_mut().unwrap().arrays.push([element, shape, values]);
            }
            _ => panic!("{line}"),
        }
    }
    tests
}

fn array<A: FromStr>([_, shape, values]: [&str; 3]) -> ArrayD<A> {
    fn listed<N: FromStr>(list: &str) -> Vec<N> {
        let number = |text: &str| text.parse().ok().expect("a number");
        list.split(',').filter(|text| !text.is_empty()).map(number).collect()
    }
    let shape = if shape == "-" { Vec::new() } else { listed(shape) };
    ArrayD::from_shape_vec(shape, listed(values)).unwrap()
}

impl Test<'_> {
    fn number(&self, attribute: &str) -> i128 {
        self.attributes.get(attribute).map_or(0, |value| value.parse().unwrap())
    }

    fn kind(&self) -> Kind {
        match self.operator {
            "Gather" => Kind::Slices { axis: self.number("axis"), batch_dims: 0 },
            // The deprecated Scatter of opset 11 is ScatterElements.
            "GatherElements" | "ScatterElements" | "Scatter" => {
                Kind::Elements { axis: self.number("axis") }
            }
            "GatherND" | "ScatterND" => Kind::Tuples { batch_dims: self.number("batch_dims") },
            operator => panic!("an unknown operator: {operator}"),
        }
    }

    fn run<A: Reduce + FromStr>(&self) {
        let indices: ArrayD<i64> = array(self.arrays[1]);
        let data: ArrayD<A> = array(self.arrays[0]);
        match self.arrays[..] {
            [_, _, output] => {
                let expected: ArrayD<A> = array(output);
                let (data, indices) = (data.view(), indices.view());
                let output = calls::read(self.kind(), &data, &indices, OutOfBounds::Error);
                assert_same(&output.unwrap(), &expected);
            }
            [_, _, updates, output] => {
                let (updates, expected): (ArrayD<A>, ArrayD<A>) = (array(updates), array(output));
                let name = self.attributes.get("reduction").copied().unwrap_or("none");
                let reduction: Reduction = name.parse().unwrap();
                let how = Reducing { reduction, use_init_val: true, mode: OutOfBounds::Error };
                let (indices, updates) = (indices.view(), updates.view());
                let output =
                    calls::reduced(self.kind(), &data.view(), &indices, &updates, &how).unwrap();
                assert_same(&output, &expected);
                let mut target = data;
                calls::reduce(self.kind(), &mut target.view_mut(), &indices, &updates, &how)
                    .unwrap();
                assert_same(&target, &expected);
            }
            _ => panic!("{} has {} arrays", self.name, self.arrays.len()),
        }
    }
}

#[test]
fn node_tests() {
    let tests = tests(include_str!("../data/onnx_node_tests.txt"));
    assert_eq!(tests.len(), 26);
    for test in tests {
        println!("{}", test.name);
        match test.arrays[0][0] {
            "float32" => test.run::<f32>(),
            "int32" => test.run::<i32>(),
            element => panic!("{} has elements of type {element}", test.name),
        }
    }
}
