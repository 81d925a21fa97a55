/**
 * The exercises of Flink's training under a harness, which moves watermarks by hand. In your own project these are
 * the bodies of tests; here they check with node:assert. Run it with
 *
 *   npx node examples/12-flink-training/main.ts
 */
import assert from 'node:assert/strict'
import { StreamHarness } from '../../src/testing/index.ts'
import {
  type HourlyTips,
  hourlyTips,
  longRideAlerts,
  type RideAndFare,
  rideCleansing,
  ridesAndFares,
  type TaxiFare,
  type TaxiRide,
} from './exercises.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

function ride(rideId: number, isStart: boolean, time: number, lon = -73.9): TaxiRide {
  return { rideId, isStart, time, lon, lat: 40.67 }
}

function fare(rideId: number, driverId: number, time: number, tip: number): TaxiFare {
  return { rideId, driverId, time, tip }
}

{
  const harness = await StreamHarness.open<[TaxiRide], TaxiRide>(rideCleansing)
  harness.process(ride(1, true, 0))
  harness.process(ride(2, true, 0, -115))
  assert.deepEqual(harness.take(), [ride(1, true, 0)])
  console.log('ride cleansing: a ride in New York stays, one outside of it does not')
}

{
  const harness = await StreamHarness.open<[TaxiRide, TaxiFare], RideAndFare>(ridesAndFares)
  harness.process(ride(1, true, 0))
  harness.process(fare(2, 7, 0, 3), 0, 1)
  harness.process(fare(1, 7, 0, 5), 0, 1)
  const restore = await harness.snapshot()
  const restored = await StreamHarness.open<[TaxiRide, TaxiFare], RideAndFare>(ridesAndFares, {
    restore,
  })
  restored.process(ride(2, true, 0))
  const tips = [...harness.take(), ...restored.take()].map((pair) => [
    pair.ride.rideId,
    pair.fare.tip,
  ])
  assert.deepEqual(tips, [
    [1, 5],
    [2, 3],
  ])
  assert.equal(restored.numKeyedStateEntries(), 0)
  console.log('rides and fares: they meet in any order, also over a restart, and leave no state')
}

{
  const harness = await StreamHarness.open<[TaxiFare], HourlyTips>(hourlyTips)
  for (const [driver, time, tip] of [
    [1, 5 * MINUTE, 1],
    [2, 10 * MINUTE, 4],
    [1, 55 * MINUTE, 5],
    [2, 70 * MINUTE, 2],
  ] as const) {
    harness.process(fare(0, driver, time, tip), time)
  }
  harness.watermark(HOUR - 1)
  assert.deepEqual(harness.take(), [{ end: HOUR, driverId: 1, tips: 6 }])
  harness.endInput()
  assert.deepEqual(harness.take(), [{ end: 2 * HOUR, driverId: 2, tips: 2 }])
  console.log('hourly tips: the best driver of each hour, when the hour is over')
}

{
  const harness = await StreamHarness.open<[TaxiRide], number>(longRideAlerts)
  const feed = (event: TaxiRide): void => harness.process(event, event.time)
  feed(ride(1, true, 0))
  feed(ride(2, true, 0))
  feed(ride(1, false, 10 * MINUTE))
  harness.watermark(2 * HOUR - 1)
  assert.deepEqual(harness.take(), [])
  harness.watermark(2 * HOUR)
  assert.deepEqual(harness.take(), [2])
  feed(ride(3, false, 5 * HOUR))
  feed(ride(3, true, 2 * HOUR + 1))
  assert.deepEqual(harness.take(), [3])
  assert.equal(harness.numEventTimeTimers(), 0)
  console.log('long ride alerts: after two hours, or when the end came before the start')
}
