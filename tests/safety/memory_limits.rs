//! Memory that the system refuses: an error in every form that allocates, for
//! elements that need dropping as for those that do not, and never the end of
//! the process. Every case has a process of its own, whose memory is limited.

use ndarray::{Array1, Array2, ArrayD, ArrayView1, Axis, s};
use opkernels::{
    Error, Gather, GatherExt, OutOfBounds, Reduction, Result, RollExt, ScatterElements,
    ScatterElementsExt,
};

use super::child::{self, Limits};

/// KiB that a process has. Twice that is asked for.
const LIMIT: u32 = 256 << 10;

/// As many elements of 64 KiB make 512 MiB; as many references are nothing.
const MANY: usize = 1 << 13;

/// Elements of 64 KiB.
type Owner = (Box<u8>, [u64; 8191]);
type Plain = [u64; 8192];

/// What is read: one element, or `MANY` that are the same in memory.
struct Given<A> {
    one: Array1<A>,
    updates: Array1<A>,
    index: Array1<i64>,
}

impl<A: Clone> Given<A> {
    fn many(&self) -> ArrayView1<'_, A> {
        self.one.broadcast(MANY).unwrap()
    }

    fn zeros(&self) -> ArrayView1<'_, i64> {
        self.index.broadcast(MANY).unwrap()
    }

    fn fill(&self) -> Gather<A> {
        Gather::along(0).out_of_bounds(OutOfBounds::Fill(self.one[0].clone()))
    }
}

type Form<A> = (&'static str, fn(&Given<A>) -> Result<ArrayD<A>>);

/// The forms that return an array, none of which is small.
fn returned<A: Clone + Send + Sync>() -> [Form<A>; 8] {
    [
        ("gather", |g| Ok(g.one.gather(&g.zeros(), 0)?.into_dyn())),
        ("gather a row", |g| Ok(g.many().insert_axis(Axis(0)).gather(&0, 0)?.into_dyn())),
        ("gather_with", |g| g.one.gather_with(&g.zeros(), 0)),
        ("gather_with a fill", |g| g.one.gather_with(&g.zeros(), g.fill())),
        ("roll", |g| Ok(g.many().roll(1, 0)?.into_dyn())),
        ("roll by nothing", |g| Ok(g.many().roll([0_i64; 0], [0_i64; 0])?.into_dyn())),
        ("scatter_elements", |g| Ok(g.many().scatter_elements(&[5], &g.updates, 0)?.into_dyn())),
        ("scatter no elements", |g| {
            Ok(g.many().scatter_elements(&[0; 0], &g.updates.slice(s![..0]), 0)?.into_dyn())
        }),
    ]
}

fn all_refused<A: Clone + Send + Sync>(element: A) {
    let given = Given {
        one: Array1::from(vec![element.clone()]),
        updates: Array1::from(vec![element]),
        index: Array1::zeros(1),
    };
    let bytes = MANY * size_of::<A>();
    for (name, run) in returned::<A>() {
        println!("{name}");
        assert_eq!(run(&given).err(), Some(Error::AllocationFailed { bytes }), "{name}");
    }
}

/// Small elements that need dropping into an array that takes two thirds of
/// the memory: done, or refused and nothing written.
fn into() {
    const LEN: usize = (160 << 20) / size_of::<Option<Box<u8>>>();
    let mut out = Array1::from_shape_simple_fn(LEN, || None);
    let zero = Array1::<i64>::zeros(1);
    let zeros = zero.broadcast(LEN).unwrap();
    let none: Array1<Option<Box<u8>>> = Array1::from(vec![None]);
    type Target = Array1<Option<Box<u8>>>;
    type Into<'i> = &'i dyn Fn(&mut Target) -> Result<()>;
    let fill = Gather::along(0).out_of_bounds(OutOfBounds::Fill(None));
    let forms: [(&str, Into<'_>); 4] = [
        ("gather_into", &|out| none.gather_into(&zeros, 0, out)),
        ("gather_into with a fill", &|out| none.gather_into(&zeros, fill.clone(), out)),
        ("roll_into", &|out| none.broadcast(LEN).unwrap().roll_into(1, 0, out)),
        ("scatter_elements_inplace", &|out| {
            out.scatter_elements_inplace(&zeros, &none.broadcast(LEN).unwrap(), 0)
        }),
    ];
    for (name, run) in forms {
        out[0] = Some(Box::new(9));
        match run(&mut out) {
            Ok(()) => assert_eq!(out[0], None, "{name}"),
            Err(error) => {
                assert!(matches!(error, Error::AllocationFailed { .. }), "{name}: {error}");
                assert_eq!(out[0], Some(Box::new(9)), "{name}");
            }
        }
    }
}

/// Work memory that is refused: done without it, or nothing has changed.
fn in_place() {
    // A lane of 150 MiB, of which a third is lifted, in steps and in one piece.
    let mut wide = Array2::<u8>::zeros((150 << 20, 1));
    wide[[0, 0]] = 1;
    let mut lane = wide.slice_mut(s![..;-1, 0]);
    let (from, by) = (lane.len() - 1, 75_usize << 20);
    match lane.roll_inplace(by as i64, 0) {
        Ok(()) => assert!(lane[from] == 0 && lane[by - 1] == 1),
        Err(error) => {
            assert!(matches!(error, Error::AllocationFailed { .. }), "{error}");
            assert_eq!(lane[from], 1);
        }
    }
    drop(wide);
    let mut pairs = Array2::<u8>::zeros((75 << 20, 2));
    pairs[[0, 0]] = 1;
    let done = pairs.slice_mut(s![.., 0]).roll_inplace(75 << 19, 0);
    match done {
        Ok(()) => assert!(pairs[[0, 0]] == 0 && pairs[[75 << 19, 0]] == 1),
        Err(error) => {
            assert!(matches!(error, Error::AllocationFailed { .. }), "{error}");
            assert_eq!(pairs[[0, 0]], 1);
        }
    }
}

/// Means, which build up beside their target: 16 lanes of 8 MiB, and a target
/// so long that the updates are sorted.
fn means() {
    let mean = ScatterElements::along(0).reduction(Reduction::Mean);
    let (index, update) = (Array2::<i64>::zeros((1, 1)), Array2::<u8>::ones((1, 1)));
    for (len, updates) in [(8 << 20, 6 << 20), (100 << 20, 20 << 20)] {
        let mut target = Array2::<u8>::zeros((len, 1));
        let shape = (updates, 1);
        let (indices, updates) =
            (index.broadcast(shape).unwrap(), update.broadcast(shape).unwrap());
        match target.scatter_elements_inplace(&indices, &updates, mean.use_init_val(false)) {
            Ok(()) => assert_eq!(target[[0, 0]], 1),
            Err(error) => {
                assert!(matches!(error, Error::AllocationFailed { .. }), "{error}");
                assert_eq!(target[[0, 0]], 0);
            }
        }
    }
}

const CASES: [(&str, fn()); 5] = [
    ("elements to be dropped", || all_refused::<Owner>((Box::new(7), [7; 8191]))),
    ("plain elements", || all_refused::<Plain>([7; 8192])),
    ("into", into),
    ("in place", in_place),
    ("means", means),
];

#[test]
fn refused_memory_is_an_error() {
    if let Some(case) = child::case() {
        let (_, run) = CASES.iter().find(|(name, _)| *name == case).expect("a case");
        return run();
    }
    if child::untooled() {
        let names = CASES.map(|(name, _)| name);
        // One arena: others would take half of the addresses.
        let variables = [("MALLOC_ARENA_MAX", "1")];
        let limits = Limits { addresses: Some(LIMIT), variables: &variables };
        child::run_all("memory_limits::refused_memory_is_an_error", names, &limits);
    }
}
