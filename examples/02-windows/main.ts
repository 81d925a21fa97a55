/**
 * Event time: sensor readings arrive out of order and are averaged per sensor and minute. A reading
 * within the allowed lateness corrects its minute; a later one goes to a side output. Run it with
 *
 *   npx node examples/02-windows/main.ts
 */
import {
  type AggregateFunction,
  boundedOutOfOrderness,
  GeneratorSource,
  LocalExecutor,
  MemorySink,
  OutputTag,
  StreamExecutionEnvironment,
  tumblingEventTimeWindows,
} from '../../src/index.ts'

interface Reading {
  readonly sensor: string
  /** Seconds since the start. */
  readonly second: number
  readonly celsius: number
}

const readings: readonly Reading[] = [
  { sensor: 'inlet', second: 5, celsius: 11 },
  { sensor: 'outlet', second: 12, celsius: 15 },
  { sensor: 'inlet', second: 41, celsius: 13 },
  { sensor: 'inlet', second: 70, celsius: 14 },
  // Out of order, but within the ten seconds that the watermark waits.
  { sensor: 'outlet', second: 61, celsius: 17 },
  { sensor: 'inlet', second: 95, celsius: 16 },
  // Its minute has already fired. It is within the allowed lateness, so the average is corrected.
  { sensor: 'inlet', second: 50, celsius: 18 },
  { sensor: 'outlet', second: 170, celsius: 19 },
  // Too late for its minute.
  { sensor: 'outlet', second: 20, celsius: 99 },
]

// Five readings a second, so that watermarks are sent between them, as in a real stream.
const trickle = new GeneratorSource<Reading>({
  generate: (index) => readings[index]!,
  countPerPartition: readings.length,
  ratePerSecond: 5,
})

const average: AggregateFunction<Reading, [sum: number, count: number], number> = {
  createAccumulator: () => [0, 0],
  add: (reading, [sum, count]) => [sum + reading.celsius, count + 1],
  getResult: ([sum, count]) => sum / count,
  merge: (a, b) => [a[0] + b[0], a[1] + b[1]],
}

const tooLate = new OutputTag<Reading>('too-late')
const averages = new MemorySink<string>()
const rejected = new MemorySink<Reading>()
const env = new StreamExecutionEnvironment({ executor: new LocalExecutor() })

const minutes = env
  .fromSource(
    trickle,
    boundedOutOfOrderness(10_000, { timestampOf: (reading) => reading.second * 1000 }),
    'Readings',
  )
  .keyBy((reading) => reading.sensor)
  .window(tumblingEventTimeWindows(60_000))
  .allowedLateness(30_000)
  .sideOutputLateData(tooLate)
  .aggregate(average, {}, () => ({
    process(sensor, { window }, [celsius], out) {
      out.collect(`minute ${window.start / 60_000}  ${sensor.padEnd(6)}  ${celsius} C`)
    },
  }))
  .uid('minute-averages')

minutes.sinkTo(averages)
minutes.getSideOutput(tooLate).sinkTo(rejected)

await env.execute('windows')

for (const line of averages.values) console.log(line)
for (const reading of rejected.values) console.log('too late:', reading)
