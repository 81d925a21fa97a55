import { join } from 'node:path'
import { Pattern } from '../../src/dataflow/cep/pattern.ts'
import { CEP } from '../../src/dataflow/cep/pattern-stream.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { type FlinkJobs, type Measured, measure, type Reading } from '../streams/operators.ts'

const pom = join(import.meta.dirname, '../streams/flink/tables-pom.xml')
const flink = (mostOfFlink: number): FlinkJobs => ({ main: 'TableOperators', pom, mostOfFlink })

/** One of eight steps of a reading; a pattern looks for the first five in turn. */
const stepOf = ({ key, time }: Reading): number => ((time ^ (time >>> 7)) + key) & 7
const isStep = (wanted: number) => (reading: Reading) => stepOf(reading) === wanted

const MEASURED: readonly Measured[] = [
  {
    name: 'table-cep',
    summary: 'a pattern of five steps within a time, 100,000 keys, us a record',
    shape: { records: 2_000_000, keys: 100_000, perMs: 1, behindMs: 0 },
    // 1.2 times Flink's records in a second of processors.
    flink: flink(1 / 1.2),
    build: (readings) =>
      CEP.pattern(
        readings.keyBy(({ key }) => key),
        Pattern.of<Reading>()
          .begin('0')
          .where(isStep(0))
          .followedBy('1')
          .where(isStep(1))
          .followedBy('2')
          .where(isStep(2))
          .followedBy('3')
          .where(isStep(3))
          .followedBy('4')
          .where(isStep(4))
          .within(1_000_000),
      ).select((match) => Object.keys(match).length),
  },
  {
    name: 'table-temporal',
    summary: 'records joined with the row of their time, one change of ten records, us a record',
    shape: { records: 2_000_000, keys: 10_000, perMs: 1, behindMs: 60_000 },
    flink: flink(1),
    build: (readings) => {
      const rates = readings
        .filter(({ time }) => time % 10 === 0)
        .toTable({ keyOf: ({ key }) => key, rowOf: ({ time }) => time })
      return readings
        .filter(({ time }) => time % 10 !== 0)
        .joinTable(
          rates,
          ({ key }) => key,
          ({ key, value }, rate) => ({ key, value, rate }),
          { type: 'left', wait: 'event-time' },
        )
    },
  },
]

/** The `table-...` benchmarks beside Flink. */
export const tableOperatorBenchmarks: readonly Benchmark[] = MEASURED.map((measured) => ({
  name: measured.name,
  summary: measured.summary,
  run: (options) => measure(measured, options),
}))
