import { describe, expect, it, onTestFinished } from 'vitest'
import { JobProcess } from '../../../src/cluster/scale-out/job-process.ts'
import type { CreatePartition } from '../../../src/cluster/scale-out/owned-partitions.ts'
import type { ProcessEvent } from '../../../src/cluster/scale-out/process-events.ts'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { WeirError } from '../../../src/core/errors.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { DiscardingSink } from '../../../src/operators/basic/discarding-sink.ts'
import type { JobExecution } from '../../../src/runtime/job/execution.ts'
import { createLocalJob } from '../../../src/runtime/job/local-executor.ts'
import { SimulatedCoordinator } from '../../connectors/kafka/group/simulated-coordinator.ts'
import { until } from '../../run/until.ts'

const PARTITIONS = 6
const JOB = {
  fingerprint: 'f'.repeat(32),
  storageId: 'a'.repeat(32),
  cluster: 'kafka',
  partitions: PARTITIONS,
  maxParallelism: 128,
}

/** Processes of one job in a simulated group; their partitions are jobs without an end. */
class Processes {
  private readonly coordinator = new SimulatedCoordinator(systemClock)
  readonly events: ProcessEvent[] = []
  private started = 0

  start(given: { job?: Partial<typeof JOB>; create?: CreatePartition } = {}): JobProcess {
    const member = this.coordinator.member({
      ...{ groupId: 'job', sessionTimeoutMs: 2_000, heartbeatIntervalMs: 10 },
    })
    const process = new JobProcess({
      member,
      job: { ...JOB, ...given.job },
      create: given.create ?? endlessJob,
      random: seededRandom(++this.started),
      ...{ clock: systemClock, heartbeatMs: 10, graceMs: 5_000, capacity: 1, version: '1' },
      topics: [],
      listener: (event) => this.events.push(event),
    })
    onTestFinished(() => process.leave().catch(() => undefined))
    return process
  }
}

function endlessJob(): Promise<JobExecution> {
  const env = new StreamExecutionEnvironment()
  env.fromSource(new MemorySource([[1]], { bounded: false })).sinkTo(new DiscardingSink())
  return Promise.resolve(createLocalJob({ graph: env.graph() }))
}

describe('the processes of a job', () => {
  it('share its partitions, and take over those of one that leaves', async () => {
    const processes = new Processes()
    const first = processes.start()
    await until('the first has all', () => first.owned.length === PARTITIONS)
    const second = processes.start()
    await until('both have half', () => first.owned.length === 3 && second.owned.length === 3)
    expect([...first.owned, ...second.owned].toSorted()).toEqual([0, 1, 2, 3, 4, 5])
    await first.leave()
    expect(first.owned).toEqual([])
    await until('the second has all', () => second.owned.length === PARTITIONS)
  })

  it('do not take one of another job', async () => {
    const processes = new Processes()
    const first = processes.start()
    await until('the first has all', () => first.owned.length === PARTITIONS)
    const other = processes.start({ job: { fingerprint: 'e'.repeat(32) } })
    await expect(other.ended).rejects.toMatchObject({ code: 'STATE_CONFLICT' })
    expect(first.owned).toHaveLength(PARTITIONS)
  })

  it('give a partition that one cannot restore to another', async () => {
    const processes = new Processes()
    const broken = processes.start({
      create: (partition) => Promise.reject(new WeirError('STORAGE_FAILED', `no ${partition}`)),
    })
    await until('it has given some back', () =>
      processes.events.some((event) => event.kind === 'failed'),
    )
    const second = processes.start()
    await until('the second has all', () => second.owned.length === PARTITIONS)
    expect(broken.owned).toEqual([])
  })
})
