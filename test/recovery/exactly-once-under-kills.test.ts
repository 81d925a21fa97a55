import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EmbeddedLog } from '../../src/connectors/log/embedded-log.ts'
import { seededRandom } from '../../src/core/random.ts'
import { campaignSize } from '../run/campaign-size.ts'
import { pause } from '../run/pause.ts'
import { commitSeed } from '../services/commit-seed.ts'
import { FoldChild } from './fold/child.ts'
import { type Folded, fold } from './fold/job.ts'
import { expectExact, readResults } from './fold/results.ts'

const seed = commitSeed()
const ALL = ['heap', 'rocksdb', 'leveldb']
/** The short part has one of them, by the seed. */
const BACKENDS = campaignSize([ALL[seed % ALL.length]!], ALL)
const KILLS = campaignSize(6, 10)
/** Parallelism of each process in turn, so that restores increase and decrease it. */
const PARALLELISMS = [1, 3, 2]
const KEYS = 3000
const encoder = new TextEncoder()

describe.each(BACKENDS)('a job on %s', (backend) => {
  it('loses and repeats no record when threads and processes are killed', async () => {
    console.log(`${backend}: WEIR_SEED=${seed}`)
    const random = seededRandom(seed)
    const root = mkdtempSync(join(tmpdir(), 'weir-kills-'))
    const expected = new Map<string, Folded>()
    const input = await EmbeddedLog.open(join(root, 'in'))
    let process_: FoldChild | undefined
    try {
      await input.createTopic('ops', { partitions: 3 })
      const producer = input.producer('ops')
      let load = true
      const produce = async (): Promise<void> => {
        while (load) {
          for (let i = 0; i < 60; i++) {
            const operation = { key: `k${random.below(KEYS)}`, amount: random.below(1000) }
            expected.set(operation.key, fold(expected.get(operation.key), operation))
            producer.send(encoder.encode(operation.key), encoder.encode(`${operation.amount}`), 0)
          }
          await producer.flush()
          await pause(10, 'load comes over time')
        }
      }
      const producing = produce()
      for (let kill = 0; kill < KILLS; kill++) {
        const parallelism = PARALLELISMS[(kill >> 1) % PARALLELISMS.length]!
        process_ ??= new FoldChild(root, { backend, parallelism, bounded: false })
        await process_.untilRunning()
        await pause(50 + random.below(400), 'a random moment of a kill')
        if (kill % 2 === 0) process_.killSlot(random.below(parallelism))
        else {
          await process_.kill()
          process_ = undefined
        }
      }
      // On a busy machine no checkpoint may have fitted between two kills: the last process lives until
      // one has committed results, so that the final run has something to repeat or to lose.
      process_ ??= new FoldChild(root, { backend, parallelism: 2, bounded: false })
      await expect
        .poll(async () => (await readResults(join(root, 'out'))).length)
        .toBeGreaterThan(0)
      await process_.kill()
      load = false
      await producing
      await producer.sync()
      process_ = new FoldChild(root, { backend, parallelism: 2, bounded: true })
      expect(await process_.exited).toBe(0)
      await expectExact(join(root, 'out'), expected)
    } finally {
      await process_?.kill()
      await input.close()
      rmSync(root, { recursive: true, force: true })
    }
  })
})
