import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FlinkRival } from '../../../benchmarks/streams/flink.ts'
import { seededRandom } from '../../../src/core/random.ts'
import type { JobExecution } from '../../../src/runtime/job/execution.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { pause } from '../../run/pause.ts'
import { untilPasses } from '../../run/until.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { ALL_FLINK_ROWS, FLINK_ROWS, type FlinkRows } from './nexmark-flink-rows.ts'
import type { NexmarkRowsOptions } from './nexmark-rows-job.ts'
import { COMPARED, type Compared } from './nexmark-stream.ts'

type Rows = ReadonlyMap<Compared, readonly string[]>

/** Queries whose rows replace each other, of which the last ones are compared. */
const REPLACING = ['q17', 'q18', 'q19'] as const
/** 30 s of event time. */
const EVENTS = 300_000
const KILLS = 3
/** So that the input lasts longer than all kills, on a fast machine too. */
const EVENTS_PER_SECOND = 60_000
const seed = commitSeed()
/** The short part has one number of slots, and no Flink: it compares with digests. */
const PARALLELISMS = campaignSize([1 + (seed % 3)], [1, 2, 3])
/** A third of the queries for each number of slots, which one the seed says: the whole has all queries. */
const queriesOf = (parallelism: number): readonly Compared[] =>
  COMPARED.filter((_, n) => n % 3 === (Math.floor(seed / 3) + parallelism) % 3)
let folder: string
/** Undefined in the short part. */
let flink: Rows | undefined

beforeAll(async () => {
  console.log(`WEIR_SEED=${seed}`)
  folder = mkdtempSync(join(tmpdir(), 'weir-nexmark-'))
  if (!campaignSize(false, true)) return
  const rival = await FlinkRival.compile(join(folder, 'classes'))
  flink = (await rival.rows(COMPARED, EVENTS, folder)) as Rows
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

/** Kills a slot of a running job whose checkpoints go on, some times; returns the failures that it saw. */
async function killSlots(job: JobExecution, parallelism: number): Promise<number> {
  const random = seededRandom(seed)
  for (let kill = 0; kill < KILLS; kill++) {
    await job.waitFor('RUNNING')
    const before = job.checkpointStatistics!.counts().completed
    await untilPasses(() =>
      expect(job.checkpointStatistics!.counts().completed).toBeGreaterThan(before),
    )
    await pause(random.below(200), 'a random moment of a kill')
    job.killSlot(random.below(parallelism))
    await untilPasses(() => expect(job.failures.length).toBe(kill + 1))
  }
  return job.failures.length
}

function linesOf(directory: string): string[] {
  return readdirSync(directory).flatMap((name) =>
    readFileSync(join(directory, name), 'utf8').trimEnd().split('\n'),
  )
}

/** The rows of the queries, of a job on slots of their own threads that are killed in between. */
async function rowsThroughKills(parallelism: number): Promise<Rows> {
  const output = join(folder, `rows-${parallelism}`)
  await using cluster = new MiniCluster()
  const options: NexmarkRowsOptions = {
    queries: queriesOf(parallelism),
    events: EVENTS,
    partitions: parallelism,
    ratePerSecond: EVENTS_PER_SECOND,
    output,
  }
  const module = new URL('./nexmark-rows-job.ts', import.meta.url)
  const job = await cluster.startWorkers(module, options, {
    configuration: {
      'parallelism.default': String(parallelism),
      'pipeline.object-reuse': String(parallelism === 2),
      'execution.checkpointing.interval': '200 ms',
      'execution.checkpointing.dir': join(folder, `checkpoints-${parallelism}`),
      'restart-strategy.type': 'fixed-delay',
      'restart-strategy.fixed-delay.attempts': String(KILLS),
      'restart-strategy.fixed-delay.delay': '10 ms',
    },
  })
  expect(await killSlots(job, parallelism)).toBe(KILLS)
  await job.result
  return new Map(queriesOf(parallelism).map((query) => [query, linesOf(join(output, query))]))
}

/** Of rows that replace each other, the last one of each key: that with the highest `measure`. */
function lastOf(rows: readonly string[][], key: number, measure: number): string[][] {
  const last = new Map<string, string[]>()
  for (const row of rows) {
    const of = row.slice(0, key).join()
    const before = last.get(of)
    if (before === undefined || Number(row[measure]) > Number(before[measure])) last.set(of, row)
  }
  return [...last.values()]
}

/**
 * What must be equal: all rows, or the last one of each key where rows replace each other. Of several best rows of a
 * window either side may take any, as of bids of the same time.
 */
function comparable(query: Compared, rows: readonly string[]): string[] {
  const fields = rows.map((row) => row.split(','))
  switch (query) {
    case 'q4':
      return lastOf(fields, 1, 1)
        .map((row) => row.map(Number).join())
        .sort()
    case 'q5':
      return fields.map(([, count, start]) => `${count} ${start}`).sort()
    case 'q7':
      return fields.map(([, , price]) => price!).sort()
    case 'q17':
      return lastOf(fields, 2, 2).map(String).sort()
    case 'q18':
      return lastOf(
        fields.map(([auction, bidder, , , , time]) => [auction!, bidder!, time!]),
        2,
        2,
      )
        .map(String)
        .sort()
    case 'q19':
      return lastOf(
        fields.map(([auction, rank, , price]) => [auction!, rank!, price!]),
        2,
        2,
      )
        .map(String)
        .sort()
    default:
      return rows.toSorted()
  }
}

const digestOf = (rows: readonly string[]): string =>
  createHash('sha256').update(rows.join('\n')).digest('hex').slice(0, 16)

/** What Flink's rows of a query are known by. */
function knownBy(query: Compared, rows: readonly string[]): FlinkRows {
  return { rows: rows.length, compared: digestOf(comparable(query, rows)) }
}

/** Expects rows with a digest. The whole shows the rows that differ. */
function expectRows(
  found: readonly string[],
  digest: string,
  ofFlink: (rows: Rows) => readonly string[],
): void {
  if (digestOf(found) === digest) return
  if (flink !== undefined) expect(found).toEqual(ofFlink(flink))
  expect(digestOf(found)).toBe(digest)
}

if (campaignSize(false, true)) {
  it('the digests of the short part are those of the rows of Flink', () => {
    const found = COMPARED.map((query) => [query, knownBy(query, flink!.get(query)!)])
    expect(Object.fromEntries(found)).toEqual(FLINK_ROWS)
    const all = REPLACING.map((query) => [query, digestOf(flink!.get(query)!.toSorted())])
    expect(Object.fromEntries(all)).toEqual(ALL_FLINK_ROWS)
  })
}

describe.each(PARALLELISMS)('queries of Nexmark in %i slots that are killed', (parallelism) => {
  const queries = queriesOf(parallelism)
  let weir: Rows

  beforeAll(async () => {
    weir = await rowsThroughKills(parallelism)
  })

  it.each(queries)('%s gives the rows of Flink', (query) => {
    const found = comparable(query, weir.get(query)!)
    expect(found.length).toBeGreaterThan(2)
    expectRows(found, FLINK_ROWS[query].compared, (flink) => comparable(query, flink.get(query)!))
  })

  if (queries.includes('q17')) {
    it('q17 gives a row for each bid, once', () => {
      expect(weir.get('q17')).toHaveLength(FLINK_ROWS.q17.rows)
    })
  }

  // With one subtask, records come in the order of Flink's, so that rows that replace each other are equal, too.
  const inOrder = parallelism === 1 ? REPLACING : []
  for (const query of inOrder.filter((one) => queries.includes(one))) {
    it(`${query} gives every row of Flink`, () => {
      const found = weir.get(query)!.toSorted()
      expectRows(found, ALL_FLINK_ROWS[query], (flink) => flink.get(query)!.toSorted())
    })
  }
})
