import { expect, it } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { parseConfiguration } from '../../../src/runtime/configuration/keys.ts'
import { SlotActivity } from '../../../src/runtime/protocol/slot-activity.ts'
import type { SlotDeployment, SlotReport } from '../../../src/runtime/protocol/slot-messages.ts'
import { SlotAgent } from '../../../src/runtime/slot/agent.ts'
import { ProgressBoard } from '../../../src/state/catalog/progress-board.ts'
import { MemoryCheckpointStorage } from '../../../src/testing/memory-checkpoint-storage.ts'
import { V1, VectorFixture } from '../../state/vector/model.ts'

/** The one slot of a job; `storageUrl`: where its checkpoints are. */
function deploymentOf(storageUrl?: string): SlotDeployment {
  return {
    jobId: 'a'.repeat(32),
    jobName: 'job',
    attempt: 1,
    slot: 0,
    slots: 1,
    configuration: parseConfiguration({ 'state.backend.type': 'heap' }),
    generation: 0,
    storageUrl,
    restoredCheckpoint: 0,
    mayHaveChanged: true,
    restoredSplits: [],
    restore: [],
    board: ProgressBoard.create(1, 1).share,
    namesCallers: false,
    activity: SlotActivity.create(1).buffer,
    peers: [undefined],
  }
}

it('a slot that still builds its graph learns of tables that a faster slot opens', async () => {
  const env = new StreamExecutionEnvironment({ parallelism: 1 })
  env.fromSource(new MemorySource([[1]], { bounded: false })).sinkTo(new MemorySink())
  const graph = env.graph()
  const gate = Promise.withResolvers<void>()
  const reports: SlotReport[] = []
  const agent = new SlotAgent({
    clock: systemClock,
    buildGraph: () => gate.promise.then(() => graph),
    openStorage: () => {
      throw new Error('the job takes no checkpoints')
    },
    report: (report) => reports.push(report),
  })
  agent.handle({ kind: 'deploy', attempt: 1, deployment: deploymentOf() })
  const fixture = new VectorFixture({ slot: 1 })
  fixture.tables.openVersion(V1)
  const share = fixture.shares.get(1)!
  agent.handle({ kind: 'peer-table-opened', attempt: 1, number: 7, share })
  gate.resolve()
  await expect
    .poll(() => reports)
    .toContainEqual({ kind: 'peer-table-known', attempt: 1, number: 7 })
  agent.handle({ kind: 'close', attempt: 1 })
  await expect.poll(() => reports.at(-1)?.kind).toBe('closed')
})

it('a slot that ends while it builds its graph begins nothing, and closes its storage', async () => {
  const env = new StreamExecutionEnvironment({ parallelism: 1 })
  env.fromSource(new MemorySource([[1]], { bounded: false })).sinkTo(new MemorySink())
  const graph = env.graph()
  const building = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const reports: SlotReport[] = []
  let closed = 0
  class Storage extends MemoryCheckpointStorage {
    override async close(): Promise<void> {
      closed += 1
    }
  }
  const agent = new SlotAgent({
    clock: systemClock,
    buildGraph: () => {
      building.resolve()
      return gate.promise.then(() => graph)
    },
    openStorage: () => new Storage(),
    report: (report) => reports.push(report),
  })
  agent.handle({ kind: 'deploy', attempt: 1, deployment: deploymentOf('memory') })
  await building.promise
  await agent.end()
  const before = closed
  expect(before).toBeGreaterThan(0)
  gate.resolve()
  // Only the deployment that finds the slot over closes once more.
  await expect.poll(() => closed).toBe(before + 1)
  expect(reports).toEqual([])
})
