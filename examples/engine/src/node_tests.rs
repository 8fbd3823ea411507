//! ONNX's own node tests, from the file that the tests of opkernels read: a
//! line for the name, for each attribute and for each array
//! (`tests/data/onnx_node_tests.py` tells which).

use std::str::FromStr;

use tract_onnx::tract_hir::internal::*;

use crate::node::{Attribute, Engine, Node, runnable};

const NODE_TESTS: &str = include_str!("../../../tests/data/onnx_node_tests.txt");

/// A node and what comes out of it.
#[derive(Debug, Default)]
pub struct Test {
    pub name: String,
    pub node: Node,
    pub outputs: Vec<Tensor>,
}

/// ONNX's node tests of the five operators, and of the Scatter that
/// ScatterElements replaced.
pub fn node_tests() -> TractResult<Vec<Test>> {
    parse(NODE_TESTS)
}

pub fn parse(text: &str) -> TractResult<Vec<Test>> {
    let mut tests: Vec<Test> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        if let ["test", name, operator] = words[..] {
            let node = Node { operator: operator.into(), ..Node::default() };
            tests.push(Test { name: name.into(), node, ..Test::default() });
            continue;
        }
        let test = tests.last_mut().context("a line before the first test")?;
        match words[..] {
            ["attribute", name, value] => {
                let text = |_| Attribute::Text(value.into());
                let value = value.parse().map_or_else(text, Attribute::Number);
                test.node.attributes.push((name.into(), value));
            }
            ["input", element, shape, values] => {
                test.node.inputs.push(tensor(element, shape, values)?);
            }
            ["output", element, shape, values] => {
                test.outputs.push(tensor(element, shape, values)?);
            }
            _ => bail!("not a line of a node test: {line}"),
        }
    }
    Ok(tests)
}

fn tensor(element: &str, shape: &str, values: &str) -> TractResult<Tensor> {
    let shape: Vec<usize> = if shape == "-" { Vec::new() } else { listed(shape)? };
    match element {
        "float32" => Tensor::from_shape(&shape, &listed::<f32>(values)?),
        "int32" => Tensor::from_shape(&shape, &listed::<i32>(values)?),
        "int64" => Tensor::from_shape(&shape, &listed::<i64>(values)?),
        other => bail!("elements of type {other}"),
    }
}

fn listed<N: FromStr>(text: &str) -> TractResult<Vec<N>> {
    let number = |text: &str| text.parse().ok().with_context(|| format!("{text} is no number"));
    text.split(',').filter(|text| !text.is_empty()).map(number).collect()
}

impl Test {
    /// Whether an engine gives the very output that the test wants. tract's own
    /// kernels may panic.
    pub fn passes(&self, engine: Engine) -> TractResult<()> {
        let outputs = runnable(self.node.model()?, engine)?.run(self.node.values())?;
        ensure!(outputs.len() == self.outputs.len(), "{} outputs", outputs.len());
        for (output, wanted) in outputs.iter().zip(&self.outputs) {
            ensure!(**output == *wanted, "{output:?} instead of {wanted:?}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Kernel;

    #[test]
    fn all_pass_by_opkernels() {
        let tests = node_tests().unwrap();
        assert_eq!(tests.len(), 26);
        for test in tests {
            test.passes(Engine::Opkernels).expect(&test.name);
        }
    }

    /// What passes is not tract's own code.
    #[test]
    fn every_node_is_replaced() {
        for test in node_tests().unwrap() {
            let plan = runnable(test.node.model().unwrap(), Engine::Opkernels).unwrap();
            let kernels = plan.model().nodes().iter().filter(|node| node.op_is::<Kernel>()).count();
            assert_eq!(kernels, 1, "{}", test.name);
        }
    }

    #[test]
    fn a_wrong_output_fails() {
        let mut tests = node_tests().unwrap();
        let test = tests.iter_mut().find(|test| test.name == "test_scatternd_add").unwrap();
        test.outputs[0] = Tensor::zero::<f32>(&[4, 4, 4]).unwrap();
        assert!(test.passes(Engine::Opkernels).is_err());
    }
}
