import { KafkaBroker } from '../../test/services/kafka/broker.ts'
import type { Benchmark, BenchmarkOptions, Figure } from '../harness/benchmark.ts'
import { fillTopic } from '../kafka/topics.ts'
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

/** `table-join`: a stream joined with a table of 1 M rows, both from Kafka. */
export const tableJoinBenchmark: Benchmark = {
  name: 'table-join',
  summary: 'records joined with a table of 1 M rows, both from a real Kafka; the first of them',
  async run(options) {
    await options.workspace.stopServing()
    await using broker = await KafkaBroker.start()
    const rows = Math.round(1_000_000 * options.scale)
    const records = Math.round(3_000_000 * options.scale)
    const of = { partitions: PARTITIONS }
    await fillTopic(broker, { ...of, topic: ROWS, records: rows, make: rowOf })
    await fillTopic(broker, { ...of, topic: STREAM, records, make: recordsOf(rows) })
    const compared = await inTurn(broker, { kind: 'join', results: records }, options)
    return [
      rateFigure('table-join', compared, 2),
      {
        name: 'table-join-load',
        value: rounded(median(compared.weir.map(({ firstMs }) => firstMs)) / 1000),
        unit: 's to the first joined record',
        target: 3,
        higher: false,
        details: { rows },
      },
    ]
  },
}

/** `table-foreign-key`: each of 1 M rows joined with the one of 100,000 rows that it names. */
export const tableForeignKeyBenchmark: Benchmark = {
  name: 'table-foreign-key',
  summary: '1 M rows joined with the rows of 100,000 that they name, both from a real Kafka',
  async run(options) {
    await options.workspace.stopServing()
    await using broker = await KafkaBroker.start()
    const rows = Math.round(100_000 * options.scale)
    const results = Math.round(1_000_000 * options.scale)
    const of = { partitions: PARTITIONS }
    await fillTopic(broker, { ...of, topic: ROWS, records: rows, make: rowOf })
    await fillTopic(broker, { ...of, topic: STREAM, records: results, make: referringTo(rows) })
    return [
      rateFigure(
        'table-foreign-key',
        await inTurn(broker, { kind: 'foreign-key', results }, options),
        1.5,
      ),
    ]
  },
}

/** `table-retract`: rows counted by a group that changes. */
export const tableRetractBenchmark: Benchmark = {
  name: 'table-retract',
  summary: '2 M changes of 100,000 rows, counted by a group that changes, from a real Kafka',
  async run(options) {
    await options.workspace.stopServing()
    await using broker = await KafkaBroker.start()
    const rows = Math.round(100_000 * options.scale)
    const results = Math.round(2_000_000 * options.scale)
    const fill = { partitions: PARTITIONS, topic: STREAM, records: results }
    await fillTopic(broker, { ...fill, make: groupChanges(rows) })
    return [
      rateFigure('table-retract', await inTurn(broker, { kind: 'retract', results }, options), 2),
    ]
  },
}
