//! opkernels in place of tract's own evaluation of gathers and scatters.
//!
//! tract parses and simplifies a model as it always does. Then [`Transform`]
//! replaces what is left of its five operators by [`Kernel`], which keeps the
//! shapes that tract inferred and evaluates by opkernels.

use std::mem::{MaybeUninit, needs_drop};

use ndarray::{ArrayViewD, ArrayViewMutD, Axis};
use opkernels::{
    Gather, GatherElementsExt, GatherExt, GatherNd, GatherNdExt, IndexInteger, OutputArray,
    RollExt, ScatterElements, ScatterElementsExt, ScatterNd, ScatterNdExt,
};
use tract_onnx::tract_core::ops::array;
use tract_onnx::tract_core::transform::ModelTransform;
use tract_onnx::tract_hir::internal::*;

/// Elements that are copied in less time than a call takes to start.
const SMALL: usize = 4096;

/// Replaces tract's gathers and scatters; [`TypedModel::transform`] takes it.
#[derive(Debug)]
pub struct Transform;

impl ModelTransform for Transform {
    fn name(&self) -> StaticName {
        "opkernels".into()
    }

    fn transform(&self, model: &mut TypedModel) -> TractResult<()> {
        Rewriter::default()
            .with_rule_for("gather", |_, model, node, _, op: &array::Gather| {
                // Tables that tract packs or quantises in blocks stay with
                // tract.
                let plain = model.outlet_fact(node.inputs[0])?.is_plain();
                plain.then(|| replace(model, node, Call::Gather(op.axis))).transpose()
            })
            .with_rule_for("gather elements", |_, model, node, _, op: &array::GatherElements| {
                replace(model, node, Call::GatherElements(op.axis)).map(Some)
            })
            .with_rule_for("gather nd", |_, model, node, _, op: &array::GatherNd| {
                replace(model, node, Call::GatherNd(op.batch_dims)).map(Some)
            })
            .with_rule_for("scatter elements", |_, model, node, _, op: &array::ScatterElements| {
                let attributes = ScatterElements::along(Axis(op.axis));
                let attributes = attributes.reduction(op.reduction.as_str().parse()?);
                replace(model, node, Call::ScatterElements(attributes)).map(Some)
            })
            .with_rule_for("scatter nd", |_, model, node, _, op: &array::ScatterNd| {
                let attributes = ScatterNd::new().reduction(op.reduction.as_str().parse()?);
                replace(model, node, Call::ScatterNd(attributes)).map(Some)
            })
            .rewrite(&(), model)
    }
}

fn replace(model: &TypedModel, node: &TypedNode, call: Call) -> TractResult<TypedModelPatch> {
    let kernel = Kernel { call, replaced: node.op.clone() };
    TypedModelPatch::replace_single_op(model, node, &node.inputs, kernel)
}

/// A node that opkernels evaluates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    call: Call,
    /// tract's operator, which still says what comes out of which inputs.
    replaced: Box<dyn TypedOp>,
}

/// What a model says about a node, with axes as tract counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Gather(usize),
    GatherElements(usize),
    GatherNd(usize),
    ScatterElements(ScatterElements),
    ScatterNd(ScatterNd),
}

impl Op for Kernel {
    fn name(&self) -> StaticName {
        format!("Opkernels{}", self.replaced.name()).into()
    }

    op_as_typed_op!();
}

impl TypedOp for Kernel {
    as_op!();

    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        self.replaced.output_facts(inputs)
    }
}

impl EvalOp for Kernel {
    op_out_of_plan!();

    fn eval(&self, _: &EvalContext, mut inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let data = inputs.remove(0);
        let output = if inputs[0].datum_type() == i32::datum_type() {
            let indices = inputs[0].to_plain_array_view::<i32>()?;
            dispatch_datum!(Self::evaluate(data.datum_type())(self, data, &indices, inputs.get(1)))
        } else {
            // `i64` as it is. A model that computes with its own shapes has
            // symbols here, which are numbers by now.
            let indices = inputs[0].cast_to::<i64>()?;
            let indices = indices.to_plain_array_view::<i64>()?;
            dispatch_datum!(Self::evaluate(data.datum_type())(self, data, &indices, inputs.get(1)))
        };
        Ok(tvec!(output?.into_tvalue()))
    }
}

impl Kernel {
    fn evaluate<T: Datum>(
        &self,
        data: TValue,
        indices: &ArrayViewD<'_, impl IndexInteger>,
        updates: Option<&TValue>,
    ) -> TractResult<Tensor> {
        let Some(updates) = updates else {
            return self.fresh::<T>(&data, indices);
        };
        // A value that nobody else reads is changed itself. Of others tract makes
        // a copy: a small one sooner than opkernels does, a large one later.
        let mut target = if data.is_exclusive() || data.len() < SMALL {
            data.into_tensor()
        } else {
            self.fresh::<T>(&data, indices)?
        };
        let mut view = target.to_plain_array_view_mut::<T>()?;
        let updates = updates.to_plain_array_view::<T>()?;
        match self.call {
            Call::ScatterElements(how) => view.scatter_elements_inplace(indices, &updates, how)?,
            Call::ScatterNd(how) => view.scatter_nd_inplace(indices, &updates, how)?,
            _ => bail!("{self:?} has updates"),
        }
        Ok(target)
    }

    /// What a gather returns, or a copy of what a scatter changes, in memory
    /// that is not cleared first.
    fn fresh<T: Datum>(
        &self,
        data: &Tensor,
        indices: &ArrayViewD<'_, impl IndexInteger>,
    ) -> TractResult<Tensor> {
        let shape = self.output_shape(data.shape(), indices.shape())?;
        let view = data.to_plain_array_view::<T>()?;
        // SAFETY: the tensor is returned after `write` has written it. Elements that
        // are dropped otherwise (texts) have a value from the start.
        let mut output = unsafe { Tensor::uninitialized_dt(data.datum_type(), &shape)? };
        if needs_drop::<T>() || output.len() == 0 {
            self.write(&view, indices, &mut output.to_plain_array_view_mut::<T>()?)?;
        } else {
            let memory = output.as_ptr_mut::<T>()?.cast::<MaybeUninit<T>>();
            // SAFETY: the memory belongs to `output`, which nobody else can use in
            // the meantime, has its shape, is aligned for `T`, and need not be
            // initialised.
            let mut room = unsafe { ArrayViewMutD::from_shape_ptr(&*shape, memory) };
            self.write(&view, indices, &mut room)?;
        }
        Ok(output)
    }

    fn write<T: Datum>(
        &self,
        data: &ArrayViewD<'_, T>,
        indices: &ArrayViewD<'_, impl IndexInteger>,
        out: &mut impl OutputArray<T>,
    ) -> opkernels::Result<()> {
        match self.call {
            Call::Gather(axis) => data.gather_into(indices, Gather::along(Axis(axis)), out),
            Call::GatherElements(axis) => data.gather_elements_into(indices, Axis(axis), out),
            Call::GatherNd(batch_dims) => {
                data.gather_nd_into(indices, GatherNd::new().batch_dims(batch_dims), out)
            }
            // A roll over no axes is a copy.
            Call::ScatterElements(_) | Call::ScatterNd(_) => data.roll_into([0; 0], [0; 0], out),
        }
    }

    /// opkernels checks shapes, but has to be told where to write.
    fn output_shape(&self, data: &[usize], indices: &[usize]) -> TractResult<TVec<usize>> {
        match self.call {
            Call::Gather(axis) => array::Gather::new(axis).compute_output_shape(data, indices),
            Call::GatherElements(_) => Ok(indices.into()),
            Call::GatherNd(batch_dims) => {
                let (tuple, places) = indices.split_last().context("GatherND by 0-d indices")?;
                let rest = data.get(batch_dims + tuple..).context("GatherND by long tuples")?;
                Ok(places.iter().chain(rest).copied().collect())
            }
            Call::ScatterElements(_) | Call::ScatterNd(_) => Ok(data.into()),
        }
    }
}
