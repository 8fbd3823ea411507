//! A model of one node, made here.

use tract_onnx::pb::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorShapeProto,
    TypeProto, ValueInfoProto, attribute_proto::AttributeType, tensor_proto::DataType,
    tensor_shape_proto::Dimension, tensor_shape_proto::dimension, type_proto,
};
use tract_onnx::prelude::*;

use crate::ops::Transform;

/// The version of ONNX's operators: the last that tract is tested with.
const OPSET: i64 = 18;

/// An operator, its attributes and its inputs.
#[derive(Debug, Clone, Default)]
pub struct Node {
    pub operator: String,
    pub attributes: Vec<(String, Attribute)>,
    pub inputs: Vec<Tensor>,
}

#[derive(Debug, Clone)]
pub enum Attribute {
    Number(i64),
    Text(String),
}

/// Whose code evaluates gathers and scatters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Tract,
    Opkernels,
}

/// A model that can be run, simplified as tract does it.
pub fn runnable(model: InferenceModel, engine: Engine) -> TractResult<Arc<TypedRunnableModel>> {
    let mut model = model.into_typed()?.into_decluttered()?;
    if engine == Engine::Opkernels {
        model.transform(&Transform)?;
    }
    model.into_optimized()?.into_runnable()
}

impl Node {
    /// The node as a model whose inputs are told at each run.
    pub fn model(&self) -> TractResult<InferenceModel> {
        let names: Vec<String> = (0..self.inputs.len()).map(|k| format!("input{k}")).collect();
        let node = NodeProto {
            op_type: self.operator.clone(),
            input: names.clone(),
            output: vec!["output".into()],
            attribute: self.attributes.iter().map(attribute).collect(),
            ..NodeProto::default()
        };
        let inputs = names.into_iter().zip(&self.inputs).map(|(name, tensor)| value(name, tensor));
        let graph = GraphProto {
            name: self.operator.clone(),
            node: vec![node],
            input: inputs.collect::<TractResult<_>>()?,
            output: vec![ValueInfoProto { name: "output".into(), ..ValueInfoProto::default() }],
            ..GraphProto::default()
        };
        let opset = OperatorSetIdProto { version: OPSET, ..OperatorSetIdProto::default() };
        tract_onnx::onnx().model_for_proto_model(&ModelProto {
            opset_import: vec![opset],
            graph: Some(graph),
            ..ModelProto::default()
        })
    }

    pub fn values(&self) -> TVec<TValue> {
        self.inputs.iter().cloned().map(IntoTValue::into_tvalue).collect()
    }
}

fn attribute((name, value): &(String, Attribute)) -> AttributeProto {
    let mut attribute = AttributeProto { name: name.clone(), ..AttributeProto::default() };
    match value {
        Attribute::Number(number) => {
            attribute.r#type = AttributeType::Int as i32;
            attribute.i = *number;
        }
        Attribute::Text(text) => {
            attribute.r#type = AttributeType::String as i32;
            attribute.s = text.clone().into_bytes();
        }
    }
    attribute
}

fn value(name: String, tensor: &Tensor) -> TractResult<ValueInfoProto> {
    let element = match tensor.datum_type() {
        DatumType::F32 => DataType::Float,
        DatumType::I32 => DataType::Int32,
        DatumType::I64 => DataType::Int64,
        other => return Err(TractError::msg(format!("no model is made of {other:?}"))),
    };
    let dim = |&length: &usize| Dimension {
        value: Some(dimension::Value::DimValue(length as i64)),
        ..Dimension::default()
    };
    let shape = TensorShapeProto { dim: tensor.shape().iter().map(dim).collect() };
    let tensor = type_proto::Tensor { elem_type: element as i32, shape: Some(shape) };
    let value = Some(type_proto::Value::TensorType(tensor));
    let kind = TypeProto { value, ..TypeProto::default() };
    Ok(ValueInfoProto { name, r#type: Some(kind), ..ValueInfoProto::default() })
}
