import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../src/connectors/memory/sink.ts'
import { MiniCluster } from '../../src/testing/mini-cluster.ts'
import { until } from '../run/until.ts'
import { foldedLedger, ledgerGraph } from './ledger-job.ts'
import { ENTRIES_PER_PARTITION, LedgerGate, PARTITIONS } from './ledger-source.ts'

const golden = readFileSync(new URL('./golden/ledger.txt', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
const ENTRIES = PARTITIONS * ENTRIES_PER_PARTITION

/**
 * Runs the job at parallelism 2, takes two checkpoints, the second of which is incremental, and ends it without
 * another one. Returns the folder of the second checkpoint and the results that it committed.
 */
async function runUntilCheckpointed(cluster: MiniCluster) {
  const sink = new MemorySink<string>('exactly-once')
  let entries = 0
  const onEntry = (): void => {
    entries += 1
  }
  const gate = new LedgerGate()
  const graph = ledgerGraph({ parallelism: 2, sink, gate, onEntry })
  const jobId = 'b'.repeat(32)
  const job = cluster.startLocal(graph, { jobId })
  await job.waitFor('RUNNING')
  gate.raise(ENTRIES_PER_PARTITION / 4)
  await until('a quarter is read', () => entries === ENTRIES / 4)
  await job.triggerCheckpoint()
  gate.raise(ENTRIES_PER_PARTITION / 2)
  await until('half is read', () => entries === ENTRIES / 2)
  const checkpointId = await job.triggerCheckpoint()
  await until('the results are committed', () => sink.preparedCount === 0)
  const committed = [...sink.values]
  await job.suspend()
  return { committed, folder: `${jobId}/chk-${checkpointId}` }
}

describe.each(['heap', 'rocksdb', 'leveldb'])('on %s', (backend) => {
  it.each([3, 1, 2])(
    'a job checkpointed at parallelism 2 and restored at %i gives the golden output',
    async (parallelism) => {
      const root = mkdtempSync(join(tmpdir(), 'weir-rescale-'))
      await using cluster = new MiniCluster({
        configuration: {
          'state.backend.type': backend,
          'state.backend.memory.budget': '64 kb',
          'state.backend.directory': join(root, 'state'),
          'execution.checkpointing.dir': join(root, 'checkpoints'),
        },
      })
      try {
        const { committed, folder } = await runUntilCheckpointed(cluster)
        const sink = new MemorySink<string>('exactly-once')
        await cluster.run(ledgerGraph({ parallelism, sink }), { restoreFrom: folder })
        expect(sink.values.some((line) => line.startsWith('entry'))).toBe(true)
        expect([...committed, ...sink.values].sort()).toEqual(golden)
      } finally {
        rmSync(root, { recursive: true, force: true })
      }
    },
  )
})

describe('the golden output', () => {
  it('is equal to a sequential fold', () => {
    expect(foldedLedger()).toEqual(golden)
  })
})
