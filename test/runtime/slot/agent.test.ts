import { expect, it } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { parseConfiguration } from '../../../src/runtime/configuration/keys.ts'
import { SlotActivity } from '../../../src/runtime/protocol/slot-activity.ts'
import type { SlotReport } from '../../../src/runtime/protocol/slot-messages.ts'
import { SlotAgent } from '../../../src/runtime/slot/agent.ts'
import { ProgressBoard } from '../../../src/state/catalog/progress-board.ts'
import { V1, VectorFixture } from '../../state/vector/model.ts'

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
  const deployment = {
    jobId: 'a'.repeat(32),
    jobName: 'job',
    attempt: 1,
    slot: 0,
    slots: 1,
    configuration: parseConfiguration({ 'state.backend.type': 'heap' }),
    generation: 0,
    storageUrl: undefined,
    restoredCheckpoint: 0,
    mayHaveChanged: true,
    restoredSplits: [],
    restore: [],
    board: ProgressBoard.create(1, 1).share,
    namesCallers: false,
    activity: SlotActivity.create(1).buffer,
    peers: [undefined],
  }
  agent.handle({ kind: 'deploy', attempt: 1, deployment })
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
