//! Points in time of all types, as what clocks show in a zone.

use super::out_of_range;
use std::cell::RefCell;
use volley_error::Result;
use volley_function::{
    BindScalar, BoundScalar, EvalContext, ScalarTraits,
    simple::{Arg, BigInt, Date, Physical, ResultType, Stored, Timestamp, map1, vectorized},
};
use volley_types::{
    Type, ZoneClocks, ZoneId,
    civil::{self, MICROS_PER_DAY, MICROS_PER_SECOND},
    custom::ZonedTimestamp,
};

/// A point in time, as clocks show it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Days since 1970-01-01.
    pub(super) days: i32,
    /// Microseconds since midnight.
    pub(super) of_day: i64,
    pub(super) zone: ZoneId,
    /// In microseconds, where it is known.
    pub(super) instant: Option<i64>,
}

/// Clocks of all zones, and the session's zone.
pub(super) struct Zones {
    pub(super) session: ZoneId,
    clocks: RefCell<ZoneClocks>,
}

impl Zones {
    pub(super) fn new(ctx: &EvalContext) -> Zones {
        let session = ZoneId::of(&ctx.query.time_zone);
        Zones { session, clocks: RefCell::default() }
    }

    /// What clocks of a zone show at an instant.
    pub(super) fn moment_at(&self, instant: i64, zone: ZoneId) -> Moment {
        let (shown, _) = self.clocks.borrow_mut().shown(instant, zone);
        let (days, of_day) = civil::split_timestamp(shown);
        Moment { days, of_day, zone, instant: Some(instant) }
    }

    /// The first instant at which clocks of a zone show `local`.
    pub(super) fn instant_of(&self, local: i64, zone: ZoneId) -> i64 {
        self.clocks.borrow_mut().of(zone).first_instant_of(local)
    }

    /// The moment with its instant, for a type whose lengths of time pass as in its zone.
    pub(super) fn located<P: Point>(&self, moment: Moment) -> Result<Moment> {
        match P::IN_ZONE {
            true => Ok(Moment { instant: Some(self.instant(&moment)?), ..moment }),
            false => Ok(moment),
        }
    }

    /// The instant of a moment.
    pub(super) fn instant(&self, moment: &Moment) -> Result<i64> {
        match moment.instant {
            Some(instant) => Ok(instant),
            None => Ok(self.instant_of(moment.local()?, moment.zone)),
        }
    }

    /// How many seconds clocks are ahead of UTC at a moment.
    pub(super) fn offset_seconds(&self, moment: &Moment) -> Result<i64> {
        let instant = self.instant(moment)?;
        Ok(self.clocks.borrow_mut().shown(instant, moment.zone).1)
    }

    /// What people call the zone's time at a moment, such as CEST.
    pub(super) fn abbreviation(&self, moment: &Moment) -> Result<String> {
        let instant = self.instant(moment)?;
        Ok(self.clocks.borrow_mut().of(moment.zone).abbreviation_at(instant))
    }

    /// The instant at which clocks show `local`, which came of changing a moment: where they show
    /// it twice, the one with the moment's offset.
    pub(super) fn instant_like(&self, local: i64, like: &Moment) -> Result<i64> {
        let offset = self.offset_seconds(like)? * MICROS_PER_SECOND;
        Ok(self.clocks.borrow_mut().of(like.zone).instant_near(local, offset))
    }
}

impl Moment {
    /// What clocks show, in microseconds since 1970-01-01 00:00:00.
    pub(super) fn local(&self) -> Result<i64> {
        civil::timestamp_of(self.days, self.of_day).ok_or_else(out_of_range)
    }
}

/// A type of points in time.
pub(super) trait Point: 'static {
    type Stored: Copy + Stored<<Self::Marker as ResultType>::Column> + 'static;
    type Marker: for<'a> Arg<Value<'a> = Self::Stored> + ResultType;

    /// Whether lengths of time pass as on the clocks of a zone: those of the session's for
    /// TIMESTAMP, as in Presto with `legacy_timestamp`.
    const IN_ZONE: bool;

    fn data_type() -> Type;

    fn moment(stored: Self::Stored, zones: &Zones) -> Moment;

    /// The value that represents a changed local time of a moment.
    fn changed(local: i64, of: &Moment, zones: &Zones) -> Result<Self::Stored>;
}

/// DATE.
pub(super) struct OfDate;
/// TIMESTAMP.
pub(super) struct OfTimestamp;
/// ZONED_TIMESTAMP.
pub(super) struct OfZoned;

impl Point for OfDate {
    type Stored = i32;
    type Marker = Date;
    const IN_ZONE: bool = false;

    fn data_type() -> Type {
        Type::Date
    }

    fn moment(days: i32, zones: &Zones) -> Moment {
        Moment { days, of_day: 0, zone: zones.session, instant: None }
    }

    fn changed(local: i64, _: &Moment, _: &Zones) -> Result<i32> {
        i32::try_from(local.div_euclid(MICROS_PER_DAY)).map_err(|_| out_of_range())
    }
}

impl Point for OfTimestamp {
    type Stored = i64;
    type Marker = Timestamp;
    const IN_ZONE: bool = true;

    fn data_type() -> Type {
        Type::Timestamp
    }

    fn moment(local: i64, zones: &Zones) -> Moment {
        let (days, of_day) = civil::split_timestamp(local);
        Moment { days, of_day, zone: zones.session, instant: None }
    }

    /// Clocks that are put forward do not show some times: the time as many minutes later.
    fn changed(local: i64, of: &Moment, zones: &Zones) -> Result<i64> {
        let instant = zones.instant_like(local, of)?;
        zones.moment_at(instant, of.zone).local()
    }
}

impl Point for OfZoned {
    type Stored = i64;
    type Marker = Physical<i64>;
    const IN_ZONE: bool = true;

    fn data_type() -> Type {
        ZonedTimestamp::data_type()
    }

    fn moment(stored: i64, zones: &Zones) -> Moment {
        let (instant, zone) = ZonedTimestamp::unpack(stored);
        zones.moment_at(instant, zone)
    }

    fn changed(local: i64, of: &Moment, zones: &Zones) -> Result<i64> {
        let instant = zones.instant_like(local, of)?;
        ZonedTimestamp::pack(instant, of.zone).ok_or_else(out_of_range)
    }
}

/// The function of one point in time with a BIGINT for a result.
pub(super) fn field_of<P: Point>(
    field: impl Fn(&Moment, &Zones) -> i64 + Copy + Send + Sync + 'static,
) -> BindScalar {
    let function = vectorized(move |rows, args, to, ctx| {
        let zones = Zones::new(ctx);
        let field = |it| field(&P::moment(it, &zones), &zones);
        map1::<P::Marker, BigInt, i64>(rows, args, to, ctx, field)
    });
    exact(vec![P::data_type()], Type::BigInt, ScalarTraits::INFALLIBLE, function)
}

/// The binding of arguments of these types alone; NULL is of any type.
pub(super) fn exact(
    types: Vec<Type>,
    result: Type,
    traits: ScalarTraits,
    function: std::sync::Arc<dyn volley_function::ScalarFunction>,
) -> BindScalar {
    std::sync::Arc::new(move |given: &[Type]| {
        let fits = |(given, wanted): (&Type, &Type)| {
            volley_types::implicit_cast_cost(given, wanted).is_some()
        };
        if given.len() != types.len() || !given.iter().zip(&types).all(fits) {
            return None;
        }
        Some(BoundScalar::new(types.clone(), result.clone(), traits, function.clone()))
    })
}
