//! Where the network puts the nodes of both graphs.

use ndarray::{Array1, Array2, Axis, array};
use opkernels::Result;

use crate::canvas::{Canvas, Colour, LARGE, SMALL, WHITE};
use crate::club::{Club, LEADERS};
use crate::network::Real;

const SIZE: usize = 480;
const MARGIN: usize = 40;
const TOP: usize = 84;

/// The share of the nodes beyond each edge of the panel: few, but far.
const OUTSIDE: f64 = 0.005;

const INK: Colour = [40, 44, 52];
const GREY: Colour = [120, 126, 138];
const COLOURS: [Colour; 3] = [[47, 111, 181], [217, 130, 43], [58, 145, 90]];

/// The club by the two hidden values of each member, and the graph that was
/// made by the scores of its nodes.
pub(crate) fn draw<F: Real>(
    hidden: &Array2<f64>,
    ties: &[(usize, usize)],
    joined: &[Club],
    scores: &Array2<F>,
    classes: &Array1<u32>,
) -> Result<Canvas> {
    let mut canvas = Canvas::new(TOP + SIZE + MARGIN, 2 * SIZE + 3 * MARGIN, WHITE);
    canvas.text(MARGIN as isize, 18, LARGE, "What two graph convolutions learned", INK);
    let left = MARGIN as f64;
    title(&mut canvas, left, "the karate club: hidden values; colour: the club joined");
    draw_club(&mut canvas, left, hidden, ties, joined);
    let right = (2 * MARGIN + SIZE) as f64;
    title(&mut canvas, right, "three communities: scores; colour: the true one");
    draw_scores(&mut canvas, right, scores, classes);
    Ok(canvas)
}

fn title(canvas: &mut Canvas, left: f64, text: &str) {
    canvas.text(left as isize, TOP as isize - 20, SMALL, text, GREY);
    let (x, y, size) = (left as isize - 1, TOP as isize - 1, SIZE as isize + 2);
    canvas.frame(x, y, size, size, GREY, 1.0);
}

fn draw_club(
    canvas: &mut Canvas,
    left: f64,
    hidden: &Array2<f64>,
    ties: &[(usize, usize)],
    joined: &[Club],
) {
    let places = spread(&turned(hidden), left, 24.0, 0.0);
    for &(one, other) in ties {
        line(canvas, places[one], places[other]);
    }
    for (member, (&[x, y], &club)) in places.iter().zip(joined).enumerate() {
        let radius = if LEADERS.contains(&member) { 14.0 } else { 10.0 };
        let (x, y) = (x as f32, y as f32);
        canvas.disc(x, y, radius + 1.5, WHITE, 1.0);
        canvas.disc(x, y, radius, COLOURS[club as usize], 1.0);
        canvas.centred(x as isize, y as isize - 4, SMALL, &(member + 1).to_string(), WHITE);
    }
}

fn line(canvas: &mut Canvas, [x, y]: [f64; 2], [to_x, to_y]: [f64; 2]) {
    let length = (to_x - x).hypot(to_y - y).ceil();
    for step in 0..length as usize {
        let part = step as f64 / length;
        let (x, y) = (x + part * (to_x - x), y + part * (to_y - y));
        canvas.disc(x as f32, y as f32, 0.5, GREY, 0.25);
    }
}

/// Scores of three classes, less their mean, lie in a plane: nothing is lost.
fn draw_scores<F: Real>(canvas: &mut Canvas, left: f64, scores: &Array2<F>, classes: &Array1<u32>) {
    let (half, root) = (F::of(0.5), F::of(0.75f64.sqrt()));
    let mut places = Array2::zeros((scores.nrows(), 2));
    for (mut place, score) in places.axis_iter_mut(Axis(0)).zip(scores.axis_iter(Axis(0))) {
        place[0] = score[1] * root - score[0] * root;
        place[1] = (score[0] + score[1]) * half - score[2];
    }
    let places = places.mapv(|at: F| at.to_f64().unwrap_or(0.0));
    let places = spread(&places, left, 2.0, OUTSIDE);
    let (right, bottom) = (left + SIZE as f64 - 2.0, (TOP + SIZE) as f64 - 2.0);
    for (&[x, y], &class) in places.iter().zip(classes) {
        if (left + 2.0..right).contains(&x) && (TOP as f64 + 2.0..bottom).contains(&y) {
            canvas.disc(x as f32, y as f32, 0.8, COLOURS[class as usize], 0.3);
        }
    }
}

/// Two columns, turned so that they are not correlated.
fn turned(places: &Array2<f64>) -> Array2<f64> {
    let centred = places - &places.mean_axis(Axis(0)).expect("a club has members");
    let moments = centred.t().dot(&centred);
    let angle = (2.0 * moments[[0, 1]]).atan2(moments[[0, 0]] - moments[[1, 1]]) / 2.0;
    let (sin, cos) = angle.sin_cos();
    centred.dot(&array![[cos, -sin], [sin, cos]])
}

/// Both columns scaled to the panel, but for its edge, and for a share of the
/// nodes at either end.
fn spread(places: &Array2<f64>, left: f64, edge: f64, outside: f64) -> Vec<[f64; 2]> {
    let scaled = [0, 1].map(|axis| {
        let column = places.column(axis);
        let mut sorted = column.to_vec();
        sorted.sort_by(f64::total_cmp);
        let skipped = (sorted.len() as f64 * outside) as usize;
        let (low, high) = (sorted[skipped], sorted[sorted.len() - 1 - skipped]);
        let start = if axis == 0 { left } else { TOP as f64 };
        column.mapv(|at| start + edge + (at - low) / (high - low) * (SIZE as f64 - 2.0 * edge))
    });
    scaled[0].iter().zip(&scaled[1]).map(|(&x, &y)| [x, y]).collect()
}
