//! The club as SVG.

use std::fmt::Write;

use ndarray::Array2;

use crate::club::{Club, LEADERS};
use crate::graph::Graph;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 660.0;
const TOP: f64 = 90.0;
/// How sure a prediction is from which its colour is dark enough for white
/// numbers.
const DARK: f64 = 0.8;
/// Half the width of a ring's line.
const RING: f64 = 1.75;

fn radius(member: usize) -> f64 {
    if LEADERS.contains(&member) { 19.0 } else { 14.0 }
}

fn colour(club: Club) -> &'static str {
    match club {
        Club::Instructor => "#2f6fb5",
        Club::Officers => "#d9822b",
    }
}

/// Fill: the club that was predicted, the stronger the surer. Ring: the club
/// that the member joined.
pub(crate) fn svg(
    graph: &Graph,
    places: &Array2<f64>,
    leanings: &Array2<f64>,
    joined: &[Club],
    title: &str,
) -> String {
    let places = spread(places);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"Helvetica, Arial, sans-serif\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"30\" y=\"38\" font-size=\"22\" fill=\"#222\">{title}</text>\n"
    );
    legend(&mut svg);
    for (&from, &to) in graph.from.iter().zip(&graph.to).filter(|(from, to)| from < to) {
        let ([x1, y1], [x2, y2]) = (places[from], places[to]);
        let _ = writeln!(
            svg,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"#c4c8cf\" \
             stroke-width=\"1.3\"/>"
        );
    }
    for (member, &[x, y]) in places.iter().enumerate() {
        let predicted = Club::of(leanings[[member, 0]]);
        let sure = (leanings[[member, 0]] - leanings[[member, 1]]).abs();
        let radius = radius(member);
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"white\"/>\
             <circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{}\" fill-opacity=\"{:.2}\" \
             stroke=\"{}\" stroke-width=\"{:.1}\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" font-size=\"13\" text-anchor=\"middle\" fill=\"{}\">{}</text>",
            colour(predicted),
            0.25 + 0.75 * sure,
            colour(joined[member]),
            2.0 * RING,
            y + 4.5,
            if sure > DARK { "white" } else { "#222" },
            member + 1,
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn legend(svg: &mut String) {
    let lines = [
        (30.0, Club::Instructor, "1: the instructor, and who joined his club"),
        (420.0, Club::Officers, "34: the president, and who joined the officers' club"),
    ];
    for (x, club, text) in lines {
        let _ = writeln!(
            svg,
            "<circle cx=\"{:.0}\" cy=\"64\" r=\"7\" fill=\"{}\"/>\
             <text x=\"{:.0}\" y=\"69\" font-size=\"14\" fill=\"#444\">{text}</text>",
            x + 7.0,
            colour(club),
            x + 22.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"30\" y=\"{}\" font-size=\"13\" fill=\"#777\">fill: predicted from the ties to the two \
         leaders, the stronger the surer. ring: the club that the member joined.</text>",
        HEIGHT - 16.0
    );
}

/// The places scaled to the drawing.
fn spread(places: &Array2<f64>) -> Vec<[f64; 2]> {
    const EDGE: f64 = 45.0;
    let sizes = [(EDGE, WIDTH - EDGE), (TOP + EDGE, HEIGHT - 30.0 - EDGE)];
    let scaled = |axis: usize| -> Vec<f64> {
        let column = places.column(axis);
        let low = column.fold(f64::INFINITY, |least, &at| least.min(at));
        let high = column.fold(f64::NEG_INFINITY, |most, &at| most.max(at));
        let (from, to) = sizes[axis];
        column.iter().map(|at| from + (at - low) / (high - low) * (to - from)).collect()
    };
    let mut places = scaled(0).into_iter().zip(scaled(1)).map(|(x, y)| [x, y]).collect::<Vec<_>>();
    part(&mut places);
    places
}

/// Moves members apart until no two touch; scaling may have brought them close.
fn part(places: &mut [[f64; 2]]) {
    const ROUNDS: usize = 200;
    const GAP: f64 = 6.0;
    for _ in 0..ROUNDS {
        let mut moved = false;
        for one in 0..places.len() {
            for other in one + 1..places.len() {
                let by = [0, 1].map(|axis| places[other][axis] - places[one][axis]);
                let length = by[0].hypot(by[1]);
                let wanted = radius(one) + radius(other) + 2.0 * RING + GAP;
                // A little less ends the rounds that rounding would prolong.
                if length > 0.0 && length < wanted - 1e-3 {
                    moved = true;
                    for axis in 0..2 {
                        let push = by[axis] / length * (wanted - length) / 2.0;
                        places[one][axis] -= push;
                        places[other][axis] += push;
                    }
                }
            }
        }
        if !moved {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_do_not_touch() {
        let mut places = vec![[100.0, 100.0], [103.0, 100.0], [101.0, 102.0], [300.0, 90.0]];
        part(&mut places);
        assert_eq!(places[3], [300.0, 90.0]);
        for one in 0..places.len() {
            for other in 0..one {
                let [x, y] = [0, 1].map(|axis| places[one][axis] - places[other][axis]);
                assert!(x.hypot(y) > radius(one) + radius(other) + 2.0 * RING);
            }
        }
    }
}
