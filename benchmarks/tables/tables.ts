import { KafkaBroker } from '../../test/services/kafka/broker.ts'
import type { Benchmark, BenchmarkOptions, Figure } from '../harness/benchmark.ts'
import { fillTopic, type RecordMaker } from '../kafka/topics.ts'
import { median, rounded } from '../load/statistics.ts'
import { ROWS, STREAM, type TablesJobOptions } from './jobs.ts'
import { KafkaStreamsRival, type TableCosts } from './kafka-streams.ts'
import { groupChanges, recordsOf, referringTo, rowOf } from './records.ts'
import { runTables, type TableRun } from './run.ts'

const ROUNDS = 3
const PARTITIONS = 4
const RIVAL = 'Kafka Streams 4.3.1, stores in memory'

interface Compared {
  readonly weir: readonly TableRun[]
  readonly rival: readonly TableCosts[]
}

/** Runs a job and the rival's program on the same topics in turn. */
async function inTurn(
  broker: KafkaBroker,
  { kind, results }: { kind: TablesJobOptions['kind']; results: number },
  { scratch, say }: BenchmarkOptions,
): Promise<Compared> {
  const streams = await KafkaStreamsRival.compile(scratch).catch((error: Error) => {
    say(`without Kafka Streams: ${error.message}`)
  })
  const [weir, rival]: [TableRun[], TableCosts[]] = [[], []]
  const brokers = broker.bootstrap
  for (let round = 1; round <= ROUNDS; round++) {
    weir.push(await runTables({ options: { kind, brokers }, results, scratch }))
    if (streams !== undefined) rival.push(await streams.run(kind, { brokers, results, scratch }))
    const [own, other] = [weir, rival].map((runs) => runs.at(-1)?.cpuUs)
    say(
      `round ${round}: ${own?.toFixed(2)} us of processor time, Kafka Streams ${other?.toFixed(2)}`,
    )
  }
  return { weir, rival }
}

const perCpuSecond = ({ cpuUs }: TableCosts): number => 1e6 / cpuUs

function rateFigure(name: string, { weir, rival }: Compared, targetRatio: number): Figure {
  return {
    name,
    value: rounded(median(weir.map(perCpuSecond))),
    unit: 'records a processor second',
    targetRatio,
    ...(rival.length === 0
      ? {}
      : { rival: rounded(median(rival.map(perCpuSecond))), rivalName: RIVAL }),
    details: {
      rounds: ROUNDS,
      us: rounded(median(weir.map(({ us }) => us))),
      ...(rival.length === 0 ? {} : { rivalUs: rounded(median(rival.map(({ us }) => us))) }),
      unmatched: Math.max(...weir.map(({ unmatched }) => unmatched)),
      rivalUnmatched: Math.max(0, ...rival.map(({ unmatched }) => unmatched)),
    },
  }
}

/** A job that Kafka Streams has, too, and the records for it. */
interface Comparison {
  readonly name: string
  readonly summary: string
  readonly kind: TablesJobOptions['kind']
  /** Weir's rate over that of Kafka Streams, at least. */
  readonly targetRatio: number
  /** Rows that the records name. */
  readonly rows: number
  readonly records: number
  /** Makes the records that name so many rows. */
  readonly recordsOf: (rows: number) => RecordMaker
  /** Whether the rows are in a topic of their own, before the records. */
  readonly hasRows: boolean
  readonly others?: (weir: readonly TableRun[], rows: number) => readonly Figure[]
}

function comparing(comparison: Comparison): Benchmark {
  const { name, summary, kind, targetRatio, others = () => [] } = comparison
  return {
    name,
    summary,
    async run(options) {
      await options.workspace.stopServing()
      await using broker = await KafkaBroker.start()
      const rows = Math.round(comparison.rows * options.scale)
      const results = Math.round(comparison.records * options.scale)
      const of = { partitions: PARTITIONS }
      if (comparison.hasRows) {
        await fillTopic(broker, { ...of, topic: ROWS, records: rows, make: rowOf })
      }
      const make = comparison.recordsOf(rows)
      await fillTopic(broker, { ...of, topic: STREAM, records: results, make })
      const compared = await inTurn(broker, { kind, results }, options)
      return [rateFigure(name, compared, targetRatio), ...others(compared.weir, rows)]
    },
  }
}

/** The benchmarks of tables beside Kafka Streams. */
export const tableBenchmarks: readonly Benchmark[] = [
  comparing({
    name: 'table-join',
    summary: 'records joined with a table of 1 M rows, both from a real Kafka; the first of them',
    kind: 'join',
    targetRatio: 2,
    rows: 1_000_000,
    records: 3_000_000,
    recordsOf,
    hasRows: true,
    others: (weir, rows) => [
      {
        name: 'table-join-load',
        value: rounded(median(weir.map(({ firstMs }) => firstMs)) / 1000),
        unit: 's to the first joined record',
        target: 3,
        higher: false,
        details: { rows },
      },
    ],
  }),
  comparing({
    name: 'table-foreign-key',
    summary: '1 M rows joined with the rows of 100,000 that they name, both from a real Kafka',
    kind: 'foreign-key',
    targetRatio: 1.5,
    rows: 100_000,
    records: 1_000_000,
    recordsOf: referringTo,
    hasRows: true,
  }),
  comparing({
    name: 'table-retract',
    summary: '2 M changes of 100,000 rows, counted by a group that changes, from a real Kafka',
    kind: 'retract',
    targetRatio: 2,
    rows: 100_000,
    records: 2_000_000,
    recordsOf: groupChanges,
    hasRows: false,
  }),
]
