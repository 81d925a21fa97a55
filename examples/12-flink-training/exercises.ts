/** The four exercises of Flink's training (github.com/apache/flink-training), solved with Weir. */
import type {
  Collector,
  DataStream,
  KeyedCoProcessFunction,
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
  OnTimerContext,
  ValueState,
} from '../../src/index.ts'
import { tumblingEventTimeWindows, valueState } from '../../src/index.ts'

/** A taxi ride begins or ends. Times are ms of event time. */
export interface TaxiRide {
  readonly rideId: number
  readonly isStart: boolean
  readonly time: number
  readonly lon: number
  readonly lat: number
}

/** What was paid for a ride. */
export interface TaxiFare {
  readonly rideId: number
  readonly driverId: number
  readonly time: number
  readonly tip: number
}

/** A ride and its fare. */
export interface RideAndFare {
  readonly ride: TaxiRide
  readonly fare: TaxiFare
}

/** The tips of a driver in an hour. */
export interface HourlyTips {
  readonly end: number
  readonly driverId: number
  readonly tips: number
}

const HOUR_MS = 3_600_000
const LONGEST_RIDE_MS = 2 * HOUR_MS

/** Exercise 1, ride cleansing: rides that begin or end in New York City. */
export function rideCleansing(rides: DataStream<TaxiRide>): DataStream<TaxiRide> {
  return rides.filter(({ lon, lat }) => lon > -74.05 && lon < -73.7 && lat > 40.5 && lat < 41)
}

/** Exercise 2, rides and fares: joins the start of each ride with its fare, whichever comes first. */
export function ridesAndFares(
  rides: DataStream<TaxiRide>,
  fares: DataStream<TaxiFare>,
): DataStream<RideAndFare> {
  return rides
    .filter(({ isStart }) => isStart)
    .connect(fares)
    .keyBy(
      (ride) => ride.rideId,
      (fare) => fare.rideId,
    )
    .process(() => new Enrichment())
    .uid('enrichment')
}

class Enrichment implements KeyedCoProcessFunction<number, TaxiRide, TaxiFare, RideAndFare> {
  private ride!: ValueState<TaxiRide>
  private fare!: ValueState<TaxiFare>

  open(context: KeyedFunctionContext): void {
    this.ride = context.getState(valueState<TaxiRide>('ride'))
    this.fare = context.getState(valueState<TaxiFare>('fare'))
  }

  processElement1(ride: TaxiRide, _: unknown, out: Collector<RideAndFare>): void {
    const fare = this.fare.value()
    this.fare.clear()
    if (fare === undefined) this.ride.update(ride)
    else out.collect({ ride, fare })
  }

  processElement2(fare: TaxiFare, _: unknown, out: Collector<RideAndFare>): void {
    const ride = this.ride.value()
    this.ride.clear()
    if (ride === undefined) this.fare.update(fare)
    else out.collect({ ride, fare })
  }
}

/** Exercise 3, hourly tips: the driver with the highest tips of each hour. */
export function hourlyTips(fares: DataStream<TaxiFare>): DataStream<HourlyTips> {
  return fares
    .keyBy(({ driverId }) => driverId)
    .window(tumblingEventTimeWindows(HOUR_MS))
    .process<HourlyTips>(() => ({
      process(driverId, { window }, all, out) {
        const tips = all.reduce((sum, { tip }) => sum + tip, 0)
        out.collect({ end: window.end, driverId, tips })
      },
    }))
    .windowAll(tumblingEventTimeWindows(HOUR_MS))
    .maxBy('tips')
}

/** Exercise 4, long ride alerts: rides of more than two hours, as soon as they are that long. */
export function longRideAlerts(rides: DataStream<TaxiRide>): DataStream<number> {
  return rides
    .keyBy(({ rideId }) => rideId)
    .process(() => new LongRides())
    .uid('long-rides')
}

class LongRides implements KeyedProcessFunction<number, TaxiRide, number> {
  /** The first event of a ride, which may be its end. */
  private first!: ValueState<TaxiRide>

  open(context: KeyedFunctionContext): void {
    this.first = context.getState(valueState<TaxiRide>('first'))
  }

  processElement(
    ride: TaxiRide,
    { timerService }: KeyedProcessContext<number>,
    out: Collector<number>,
  ): void {
    const first = this.first.value()
    if (first === undefined) {
      this.first.update(ride)
      if (ride.isStart) timerService.registerEventTimeTimer(ride.time + LONGEST_RIDE_MS)
      return
    }
    const [start, end] = ride.isStart ? [ride, first] : [first, ride]
    if (first.isStart) timerService.deleteEventTimeTimer(first.time + LONGEST_RIDE_MS)
    if (end.time - start.time > LONGEST_RIDE_MS) out.collect(ride.rideId)
    this.first.clear()
  }

  onTimer(_: number, { currentKey }: OnTimerContext<number>, out: Collector<number>): void {
    out.collect(currentKey)
    this.first.clear()
  }
}
