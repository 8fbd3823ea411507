//! A plasma of electrons in one dimension, on a periodic grid: particle in cell.
//!
//! Units: the plasma frequency, the electron's charge over its mass, and the
//! mean density are 1. The length is `2 pi`, so the longest wave has the wave
//! number 1.

use std::f64::consts::TAU;

use ndarray::{Array1, Array2, Axis, Zip, s};
use opkernels::{Gather, GatherExt, OutOfBounds, Result, RollExt, Scatter, ScatterExt};

/// Electrons in a neutral background, and the field they make.
pub(crate) struct Plasma {
    /// In `0..2 pi`.
    pub(crate) position: Array1<f64>,
    pub(crate) velocity: Array1<f64>,
    /// At the nodes of the grid.
    pub(crate) field: Array1<f64>,
    /// What is deposited at the nodes: as many as there are particles, on the whole.
    pub(crate) charge: Array1<f64>,
    beside: Beside,
}

/// The two nodes beside each particle, in a row each. They are kept from step to step: new arrays of
/// this size would be new pages each time, which cost more than what is written to them.
struct Beside {
    nodes: Array2<i64>,
    /// How much of the particle's charge is each node's; both make 1.
    shares: Array2<f64>,
    /// What the field is there.
    field: Array2<f64>,
}

impl Plasma {
    /// Two beams that meet, of speeds up to `spread` below and above `speed`,
    /// pushed together a little along one wave.
    pub(crate) fn two_beams(
        particles: usize,
        nodes: usize,
        speed: f64,
        spread: f64,
    ) -> Result<Self> {
        const PUSH: f64 = 1e-4;
        /// Multiples of the golden ratio, less whole numbers, are spread evenly
        /// beside any other even spread: there is less noise than by chance.
        const GOLDEN: f64 = 0.618_033_988_749_894_9;
        let beam = particles / 2;
        let even = |k: usize| (k % beam) as f64 / beam as f64 * TAU;
        let speed = |k: usize| speed + spread * (2.0 * (k as f64 * GOLDEN).fract() - 1.0);
        let mut plasma = Plasma {
            position: Array1::from_shape_fn(2 * beam, |k| {
                (even(k) + PUSH * even(k).sin()).rem_euclid(TAU)
            }),
            velocity: Array1::from_shape_fn(2 * beam, |k| {
                if k < beam { speed(k) } else { -speed(k - beam) }
            }),
            field: Array1::zeros(nodes),
            charge: Array1::zeros(nodes),
            beside: Beside {
                nodes: Array2::zeros((2, 2 * beam)),
                shares: Array2::zeros((2, 2 * beam)),
                field: Array2::zeros((2, 2 * beam)),
            },
        };
        plasma.locate();
        plasma.deposit()?;
        plasma.solve()?;
        Ok(plasma)
    }

    fn cell_width(&self) -> f64 {
        TAU / self.field.len() as f64
    }

    /// Finds the nodes beside the particles. The one after the last is the first: indices wrap.
    fn locate(&mut self) {
        let width = self.cell_width();
        let Beside { nodes, shares, .. } = &mut self.beside;
        let (left, right) = nodes.multi_slice_mut((s![0, ..], s![1, ..]));
        let (of_left, of_right) = shares.multi_slice_mut((s![0, ..], s![1, ..]));
        Zip::from(left).and(right).and(of_left).and(of_right).and(&self.position).for_each(
            |left, right, of_left, of_right, position| {
                let cell = position / width;
                (*left, *right) = (cell as i64, cell as i64 + 1);
                (*of_left, *of_right) = (1.0 - cell.fract(), cell.fract());
            },
        );
    }

    /// Shares each particle's charge between the two nodes beside it: a scatter-sum.
    fn deposit(&mut self) -> Result<()> {
        let sum = Scatter::sum(0).out_of_bounds(OutOfBounds::Wrap);
        self.charge.fill(0.0);
        self.charge.scatter_inplace(&self.beside.nodes, &self.beside.shares, sum)
    }

    /// The field whose slope is the density of the background less that of the
    /// electrons.
    fn solve(&mut self) -> Result<()> {
        let nodes = self.field.len() as f64;
        let per_node = self.position.len() as f64 / nodes;
        let mut between = self.charge.mapv(|charge| (1.0 - charge / per_node) * self.cell_width());
        between.accumulate_axis_inplace(Axis(0), |&sum, slope| *slope += sum);
        between -= between.sum() / nodes;
        // At a node: the mean of the field half a cell before and after it.
        let before = between.roll(1, 0)?;
        self.field = (before + between) / 2.0;
        Ok(())
    }

    /// One step in time: kick, drift, kick.
    pub(crate) fn step(&mut self, time: f64) -> Result<()> {
        self.kick(time / 2.0)?;
        Zip::from(&mut self.position).and(&self.velocity).for_each(|position, velocity| {
            *position = (*position + time * velocity).rem_euclid(TAU) % TAU;
        });
        self.locate();
        self.deposit()?;
        self.solve()?;
        self.kick(time / 2.0)
    }

    /// Accelerates each particle by the field of the two nodes beside it: a gather.
    fn kick(&mut self, time: f64) -> Result<()> {
        let Beside { nodes, shares, field } = &mut self.beside;
        let wrap = Gather::along(0).out_of_bounds(OutOfBounds::Wrap);
        self.field.gather_into(nodes, wrap, field)?;
        Zip::from(&mut self.velocity)
            .and(field.row(0))
            .and(field.row(1))
            .and(shares.row(0))
            .and(shares.row(1))
            .for_each(|velocity, left, right, of_left, of_right| {
                *velocity -= time * (left * of_left + right * of_right);
            });
        Ok(())
    }

    /// Per particle.
    pub(crate) fn kinetic_energy(&self) -> f64 {
        self.velocity.dot(&self.velocity) / 2.0 / self.velocity.len() as f64
    }

    /// Per particle.
    pub(crate) fn field_energy(&self) -> f64 {
        self.field.dot(&self.field) / 2.0 / self.field.len() as f64
    }

    /// The amplitude of the longest wave of the field.
    pub(crate) fn longest_wave(&self) -> f64 {
        let nodes = self.field.len() as f64;
        let part = |wave: fn(f64) -> f64| {
            self.field.indexed_iter().map(|(k, field)| field * wave(k as f64 / nodes * TAU)).sum()
        };
        let (cosine, sine): (f64, f64) = (part(f64::cos), part(f64::sin));
        2.0 / nodes * cosine.hypot(sine)
    }
}

/// The rate at which the longest wave grows, where it does: the root of the
/// dispersion relation `1 = Re 1 / ((i rate - speed)^2 - spread^2)`.
pub(crate) fn growth_rate(speed: f64, spread: f64) -> f64 {
    let constant = speed * speed - spread * spread;
    let linear = 4.0 * speed * speed - 2.0 * constant + 1.0;
    let root = (linear * linear - 4.0 * constant * (constant - 1.0)).sqrt();
    ((root - linear) / 2.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::{assert_abs_diff_eq, assert_relative_eq};

    #[test]
    fn charge_and_energy_are_kept() {
        let mut plasma = Plasma::two_beams(4000, 64, 0.6, 0.1).unwrap();
        let energy = plasma.kinetic_energy() + plasma.field_energy();
        for _ in 0..100 {
            plasma.step(0.1).unwrap();
            assert_abs_diff_eq!(plasma.charge.sum(), 4000.0, epsilon = 1e-8);
        }
        let after = plasma.kinetic_energy() + plasma.field_energy();
        assert_relative_eq!(after, energy, max_relative = 1e-3);
    }

    #[test]
    fn cold_beams_grow_fastest_at_the_known_rate() {
        let rate = growth_rate(0.375_f64.sqrt(), 0.0);
        assert_abs_diff_eq!(rate, 0.125_f64.sqrt(), epsilon = 1e-12);
    }

    #[test]
    fn a_cold_plasma_oscillates_at_its_frequency() {
        let mut plasma = Plasma::two_beams(4000, 64, 0.0, 0.0).unwrap();
        let first = plasma.longest_wave();
        // Half a period: the wave is back, upside down.
        let steps = 400;
        (0..steps).for_each(|_| plasma.step(TAU / 2.0 / f64::from(steps)).unwrap());
        assert_relative_eq!(plasma.longest_wave(), first, max_relative = 0.01);
        (0..steps / 2).for_each(|_| plasma.step(TAU / 2.0 / f64::from(steps)).unwrap());
        assert!(plasma.longest_wave() / first < 0.02);
    }
}
