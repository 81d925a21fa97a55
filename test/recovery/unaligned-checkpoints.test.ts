import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EmbeddedLog } from '../../src/connectors/log/embedded-log.ts'
import { MemorySink } from '../../src/connectors/memory/sink.ts'
import { seededRandom } from '../../src/core/random.ts'
import { MiniCluster } from '../../src/testing/mini-cluster.ts'
import { campaignSize } from '../run/campaign-size.ts'
import { pause } from '../run/pause.ts'
import { until } from '../run/until.ts'
import { commitSeed } from '../services/commit-seed.ts'
import { FOLD_JOB_ID, FoldChild } from './fold/child.ts'
import { newestCheckpoint } from './fold/in-flight.ts'
import { type Folded, fold } from './fold/job.ts'
import { expectExact } from './fold/results.ts'
import { ledgerGraph } from './ledger-job.ts'

const golden = readFileSync(new URL('./golden/ledger.txt', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
const seed = commitSeed()
/** In the short part every `count`th one, from one that the seed says. */
const some = <T>(all: readonly T[], count: number): readonly T[] =>
  campaignSize<readonly T[]>(
    all.filter((_, n) => n % count === seed % count),
    all,
  )
const KEYS = 500
/** Parallelism of each process in turn, so that restores increase and decrease it. */
const PARALLELISMS = [2, 3, 1, 2, 2, 3].slice(0, campaignSize(3, 6))
const encoder = new TextEncoder()

const unaligned = (timeout: string) => ({
  'execution.checkpointing.unaligned.enabled': 'true',
  'execution.checkpointing.aligned-checkpoint-timeout': timeout,
  'execution.checkpointing.tolerable-failed-checkpoints': '1000',
})

/** Fills topic `ops` and returns the folds that must come out of it. */
async function fill(root: string, records: number, seed: number): Promise<Map<string, Folded>> {
  const random = seededRandom(seed)
  const expected = new Map<string, Folded>()
  const input = await EmbeddedLog.open(join(root, 'in'))
  await input.createTopic('ops', { partitions: 3 })
  const producer = input.producer('ops')
  for (let i = 0; i < records; i++) {
    const operation = { key: `k${random.below(KEYS)}`, amount: random.below(1000) }
    expected.set(operation.key, fold(expected.get(operation.key), operation))
    producer.send(encoder.encode(operation.key), encoder.encode(`${operation.amount}`), 0)
    if (i % 1000 === 0) await producer.flush()
  }
  await producer.sync()
  await input.close()
  return expected
}

/** Time of one checkpoint of a job whose fold takes long for each record, and the checkpoint's folder. */
async function checkpointOfSlowJob(
  root: string,
  checkpointing: Readonly<Record<string, string>>,
): Promise<{ readonly ms: number; readonly inFlight: number | undefined }> {
  const output = await EmbeddedLog.open(join(root, 'out'))
  await output.createTopic('results', { partitions: 2 })
  const job = { input: join(root, 'in'), output: join(root, 'out'), bounded: false, slowMs: 1 }
  const cluster = new MiniCluster()
  try {
    const execution = await cluster.startWorkers(new URL('./fold/job.ts', import.meta.url), job, {
      jobId: FOLD_JOB_ID,
      configuration: {
        'parallelism.default': '2',
        'pipeline.max-parallelism': '64',
        'execution.checkpointing.dir': join(root, 'checkpoints'),
        ...checkpointing,
      },
    })
    await execution.waitFor('RUNNING')
    await until('the sources are held back', async () => {
      const metrics = Object.entries(await execution.metrics())
      const held = metrics.filter(([name]) => /^ops\.\d+\.accumulatedBackPressured/.test(name))
      return held.length > 0 && held.every(([, ms]) => ms > 300)
    })
    const startMs = performance.now()
    await execution.triggerCheckpoint()
    const ms = performance.now() - startMs
    await execution.suspend()
    const checkpoint = await newestCheckpoint(join(root, 'checkpoints'), FOLD_JOB_ID)
    return { ms, inFlight: checkpoint?.inFlight }
  } finally {
    await cluster.close()
    await output.close()
  }
}

describe('a job whose slow operator holds back its input', () => {
  it.each(some([2, 3], 2))(
    'takes an unaligned checkpoint with records in flight, and goes on from it at parallelism %i',
    async (parallelism) => {
      const root = mkdtempSync(join(tmpdir(), 'weir-unaligned-'))
      const alignedRoot = mkdtempSync(join(tmpdir(), 'weir-aligned-'))
      let child: FoldChild | undefined
      try {
        const expected = await fill(root, 40_000, seed)
        await fill(alignedRoot, 40_000, seed)
        const aligned = await checkpointOfSlowJob(alignedRoot, {})
        const overtaking = await checkpointOfSlowJob(root, unaligned('0 ms'))
        console.log(
          `a checkpoint behind a slow operator: aligned ${aligned.ms.toFixed(0)} ms, unaligned ${overtaking.ms.toFixed(0)} ms with ${overtaking.inFlight} records in flight`,
        )
        expect(aligned.inFlight).toBe(0)
        expect(overtaking.inFlight).toBeGreaterThan(0)
        child = new FoldChild(root, { backend: 'heap', parallelism, bounded: true })
        expect(await child.exited).toBe(0)
        await expectExact(join(root, 'out'), expected)
      } finally {
        await child?.kill()
        rmSync(root, { recursive: true, force: true })
        rmSync(alignedRoot, { recursive: true, force: true })
      }
    },
  )

  it.each(some(['0 ms', '40 ms'], 2))(
    'loses and repeats no record when threads and processes are killed, with an aligned timeout of %s',
    async (timeout) => {
      console.log(`WEIR_SEED=${seed}`)
      const random = seededRandom(seed)
      const root = mkdtempSync(join(tmpdir(), 'weir-unaligned-kills-'))
      const configuration = unaligned(timeout)
      const newest = () => newestCheckpoint(join(root, 'checkpoints'), FOLD_JOB_ID)
      /** Waits until another checkpoint is complete. */
      const checkpointed = async (): Promise<void> => {
        const before = (await newest())?.id ?? 0
        await until('a checkpoint', async () => ((await newest())?.id ?? 0) > before, {
          everyMs: 20,
        })
      }
      let child: FoldChild | undefined
      let inFlight = 0
      try {
        const expected = await fill(root, 60_000, seed)
        for (const parallelism of PARALLELISMS) {
          child = new FoldChild(root, {
            backend: 'heap',
            parallelism,
            bounded: false,
            slowMs: 0.2,
            configuration,
          })
          await child.untilRunning()
          await checkpointed()
          await pause(random.below(400), 'a random moment of a kill')
          child.killSlot(random.below(parallelism))
          await checkpointed()
          await pause(random.below(400), 'a random moment of a kill')
          await child.kill()
          inFlight += (await newest())?.inFlight ?? 0
        }
        console.log(`records in flight in the newest checkpoints at the kills: ${inFlight}`)
        expect(inFlight).toBeGreaterThan(0)
        child = new FoldChild(root, { backend: 'heap', parallelism: 2, bounded: true })
        expect(await child.exited).toBe(0)
        await expectExact(join(root, 'out'), expected)
      } finally {
        await child?.kill()
        rmSync(root, { recursive: true, force: true })
      }
    },
  )
})

describe('a job with timers, windows and sessions', () => {
  const cases = [60, 200, 350, 500].flatMap((at) => [1, 2, 3].map((to) => [at, to] as const))
  it.each(some(cases, 4))(
    'gives the golden output from an unaligned checkpoint at entry %i, restored at parallelism %i',
    async (at, parallelism) => {
      const root = mkdtempSync(join(tmpdir(), 'weir-unaligned-ledger-'))
      const checkpoints = join(root, 'checkpoints')
      await using cluster = new MiniCluster({
        configuration: {
          ...unaligned('0 ms'),
          'execution.checkpointing.dir': checkpoints,
          'taskmanager.memory.segment-size': '1 kb',
          'taskmanager.network.memory.buffers-per-channel': '2',
        },
      })
      try {
        const first = new MemorySink<string>('exactly-once')
        const reached = Promise.withResolvers<void>()
        let entries = 0
        const onEntry = (): void => {
          entries += 1
          if (entries === at) reached.resolve()
          // The operator is slow: while the checkpoint is taken, the channels are full.
          for (const until = performance.now() + 0.3; performance.now() < until; );
        }
        const jobId = 'd'.repeat(32)
        const job = cluster.startLocal(ledgerGraph({ parallelism: 2, sink: first, onEntry }), {
          jobId,
        })
        await reached.promise
        const checkpointId = await job.triggerCheckpoint()
        // At each turn: the job ends soon, and then all its results are committed.
        await until('the results are committed', () => first.preparedCount === 0, { everyMs: 0 })
        const committed = [...first.values]
        await job.suspend()
        expect((await newestCheckpoint(checkpoints, jobId))?.inFlight).toBeGreaterThan(0)
        const sink = new MemorySink<string>('exactly-once')
        await cluster.run(ledgerGraph({ parallelism, sink }), {
          restoreFrom: `${jobId}/chk-${checkpointId}`,
        })
        expect([...committed, ...sink.values].sort()).toEqual(golden)
      } finally {
        rmSync(root, { recursive: true, force: true })
      }
    },
  )
})
