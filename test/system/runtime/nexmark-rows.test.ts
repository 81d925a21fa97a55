import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FlinkRival } from '../../../benchmarks/streams/flink.ts'
import { NEXMARK_QUERIES, type NexmarkQuery } from '../../../benchmarks/streams/nexmark-queries.ts'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import type { DataStream } from '../../../src/dataflow/data-stream.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { LocalExecutor } from '../../../src/runtime/job/local-executor.ts'
import { nexmarkStream } from './nexmark-stream.ts'

/** 30 s of event time. */
const EVENTS = 300_000
/** All but q12, whose windows follow the wall clock. */
const QUERIES = ['q5', 'q7', 'q11', 'q17', 'q18'] as const satisfies readonly NexmarkQuery[]

let folder: string
let flink: ReadonlyMap<string, readonly string[]>

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-nexmark-'))
  const rival = await FlinkRival.compile(join(folder, 'classes'))
  flink = await rival.rows(QUERIES, EVENTS, folder)
}, 300_000)

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

/** The rows of a query, as `FlinkRival.rows` gives them. */
async function weirRows(query: NexmarkQuery, parallelism: number): Promise<string[]> {
  const env = new StreamExecutionEnvironment({ parallelism, executor: new LocalExecutor() })
  const events = nexmarkStream(env, EVENTS, parallelism)
  const sink = new MemorySink<object>()
  const results = NEXMARK_QUERIES[query](events) as unknown as DataStream<object>
  results.sinkTo(sink)
  await env.execute(query)
  return sink.values.map((row) => Object.values(row).join(','))
}

/** Of several best rows of a window either side may take any: q5 and q7 are compared by what is best. */
function comparable(query: NexmarkQuery, rows: readonly string[]): string[] {
  const fields = rows.map((row) => row.split(','))
  switch (query) {
    case 'q5':
      return fields.map(([, count, start]) => `${count} ${start}`).sort()
    case 'q7':
      return fields.map(([, , price]) => price!).sort()
    default:
      return rows.toSorted()
  }
}

describe('queries of Nexmark on the same events', () => {
  it.each(QUERIES)('%s gives the rows of Flink, in one subtask', async (query) => {
    const expected = comparable(query, flink.get(query)!)
    expect(expected.length).toBeGreaterThan(2)
    expect(comparable(query, await weirRows(query, 1))).toEqual(expected)
  })

  // The rows of q17 and q18 depend on the order in which subtasks meet.
  it.each(['q5', 'q7', 'q11'] as const)('%s gives the rows of Flink, in 3', async (query) => {
    expect(comparable(query, await weirRows(query, 3))).toEqual(
      comparable(query, flink.get(query)!),
    )
  })
})
