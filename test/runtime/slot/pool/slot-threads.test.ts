import { beforeEach, describe, expect, it } from 'vitest'
import type { WeirError } from '../../../../src/core/errors.ts'
import type { JobModule } from '../../../../src/dataflow/job/module.ts'
import { parseConfiguration } from '../../../../src/runtime/configuration/keys.ts'
import { SlotActivity } from '../../../../src/runtime/protocol/slot-activity.ts'
import type { SlotHost } from '../../../../src/runtime/protocol/slot-host.ts'
import type { SlotReport } from '../../../../src/runtime/protocol/slot-messages.ts'
import { SlotThreadPool } from '../../../../src/runtime/slot/pool/slot-threads.ts'
import { ProgressBoard } from '../../../../src/state/catalog/progress-board.ts'
import { ManualClock } from '../../../../src/testing/manual-clock.ts'
import { SilentWorker } from './fake-workers.ts'

const JOB: JobModule = { url: 'file:///job.ts', options: {} }
const PING = { kind: 'ping', attempt: 0 } as const
/** Time after which a thread that does not remove a slot is ended. */
const REMOVE_MS = 10_000

let clock: ManualClock
let workers: SilentWorker[]
let pool: SlotThreadPool

beforeEach(() => {
  clock = new ManualClock()
  workers = []
  pool = new SlotThreadPool({
    threads: 2,
    url: JOB.url,
    stateMemoryBytes: 101,
    clock,
    startWorker: (name, data) => {
      const worker = new SilentWorker(name, data)
      workers.push(worker)
      return worker
    },
  })
})

/** A slot of an execution, with what its listener got. */
class Started {
  readonly reports: SlotReport[] = []
  readonly losses: WeirError[] = []
  readonly host: SlotHost

  constructor(startSlot = pool.slotsOf(JOB)) {
    this.host = startSlot(0, {
      report: (report) => this.reports.push(report),
      lost: (error) => this.losses.push(error),
    })
  }
}

const agentOf = (worker: SilentWorker, index: number): number =>
  worker.received.filter((message) => message.kind === 'add')[index]!.agent

describe('a pool of slot threads', () => {
  it('starts a thread with its first slot, and gives it an even part of the memory', () => {
    expect(workers).toEqual([])
    for (let n = 0; n < 4; n++) new Started()
    expect(workers.map(({ name, data }) => [name, data.stateMemoryBytes])).toEqual([
      ['slots-0', 50],
      ['slots-1', 50],
    ])
  })

  it('gives a slot to the thread with the fewest slots', async () => {
    const started = Array.from({ length: 5 }, () => new Started())
    expect(pool.loads).toEqual([3, 2])
    for (const n of [1, 3]) void started[n]!.host.terminate()
    expect(pool.loads).toEqual([3, 0])
    for (let n = 0; n < 4; n++) new Started()
    expect(pool.loads).toEqual([4, 3])
  })

  it('says how long a thread has not answered, but for one that goes on in a long call', () => {
    new Started()
    new Started()
    expect(pool.silenceMs()).toBe(0)
    clock.advance(1_000)
    expect(pool.silenceMs()).toBe(1_000)
    workers[0]!.says({ kind: 'answer' })
    clock.advance(1_000)
    // The other one still owes its answer.
    expect(pool.silenceMs()).toBe(2_000)
    workers[1]!.says({ kind: 'answer' })
    clock.advance(500)
    expect(pool.silenceMs()).toBe(500)
    expect(
      workers.map(({ received }) => received.filter(({ kind }) => kind === 'ask').length),
    ).toEqual([2, 2])
  })

  it('passes reports on to the slot that they are for, and none to one that has ended', () => {
    const [a, , c] = [new Started(), new Started(), new Started()]
    const report = { kind: 'running', attempt: 1 } as const
    workers[0]!.says({ kind: 'report', agent: agentOf(workers[0]!, 1), report })
    expect([a.reports, c.reports]).toEqual([[], [report]])
    void c.host.terminate()
    workers[0]!.says({ kind: 'report', agent: agentOf(workers[0]!, 1), report })
    expect(c.reports).toHaveLength(1)
  })

  it('reports the end of a thread as the loss of each of its slots, and of no other', () => {
    const started = Array.from({ length: 4 }, () => new Started())
    workers[0]!.emit('error', new Error('out of memory'))
    workers[0]!.emit('exit', 1)
    expect(started.map(({ losses }) => losses.map(({ message }) => message))).toEqual([
      ['slot 0 is lost: out of memory'],
      [],
      ['slot 0 is lost: out of memory'],
      [],
    ])
    expect(started[0]!.losses[0]!.code).toBe('SLOT_LOST')
    expect(pool.loads).toEqual([0, 2])
  })

  it('starts a lost thread again, and gives it its former slots', () => {
    const slots = [pool.slotsOf(JOB), pool.slotsOf(JOB), pool.slotsOf(JOB), pool.slotsOf(JOB)]
    for (const startSlot of slots) new Started(startSlot)
    workers[1]!.emit('exit', 1)
    for (const n of [1, 3]) new Started(slots[n])
    expect(workers.map(({ name }) => name)).toEqual(['slots-0', 'slots-1', 'slots-1'])
    expect(pool.loads).toEqual([2, 2])
  })

  it('does not give a slot to a thread that is being killed', () => {
    const [a, b] = [new Started(), new Started()]
    a.host.kill()
    expect(workers[0]!.isTerminated).toBe(true)
    new Started()
    expect(workers.map(({ name }) => name)).toEqual(['slots-0', 'slots-1', 'slots-0'])
    workers[0]!.emit('exit', 1)
    expect([a.losses.length, b.losses.length]).toEqual([1, 0])
    expect(a.losses[0]!.details).toEqual({ slot: 0 })
    expect(pool.loads).toEqual([1, 1])
  })

  it('starts no slot after it was closed', async () => {
    const started = new Started()
    await pool.close()
    expect(workers[0]!.isTerminated).toBe(true)
    workers[0]!.emit('exit', 0)
    expect(started.losses).toEqual([])
    expect(() => new Started()).toThrow(/the slot threads are closed/)
  })
})

/** Lets a slot begin an attempt, and returns what its thread writes to. */
function deploy({ host }: Started): SlotActivity {
  const activity = SlotActivity.create(1)
  const deployment = {
    jobId: 'a'.repeat(32),
    jobName: 'job',
    attempt: 1,
    slot: 0,
    slots: 1,
    configuration: parseConfiguration({}),
    generation: 0,
    storageUrl: undefined,
    restoredCheckpoint: 0,
    mayHaveChanged: true,
    restoredSplits: [],
    restore: [],
    board: ProgressBoard.create(1, 1).share,
    namesCallers: false,
    activity: activity.buffer,
    peers: [undefined],
  }
  host.send({ kind: 'deploy', attempt: 1, deployment })
  return activity
}

describe('a slot that ends in a shared thread', () => {
  it('waits until the thread has removed it, or has ended', async () => {
    const [a, , c] = [new Started(), new Started(), new Started()]
    const ended: string[] = []
    const ends = [a, c].map(async ({ host }, n) => {
      await host.terminate()
      ended.push(`slot ${n}`)
    })
    expect(workers[0]!.received.at(-1)).toEqual({ kind: 'remove', agent: agentOf(workers[0]!, 1) })
    workers[0]!.says({ kind: 'removed', agent: agentOf(workers[0]!, 0) })
    await ends[0]
    expect(ended).toEqual(['slot 0'])
    workers[0]!.emit('exit', 1)
    await ends[1]
    expect(a.losses).toEqual([])
    expect(clock.pending).toBe(0)
  })

  it('ends a thread that does not remove it in time, which the others are lost with', async () => {
    const [a, , c] = [new Started(), new Started(), new Started()]
    const end = a.host.terminate()
    clock.advance(REMOVE_MS - 1)
    expect(workers[0]!.isTerminated).toBe(false)
    clock.advance(1)
    expect(workers[0]!.isTerminated).toBe(true)
    workers[0]!.emit('exit', 1)
    await end
    expect([a.losses.length, c.losses.length]).toEqual([0, 1])
  })

  it('waits as long as another slot of the thread goes on in a long call', async () => {
    const [a, , c] = [new Started(), new Started(), new Started()]
    const activity = deploy(c)
    const { step } = activity.begin({ slot: 0, attempt: 1 }, 3, 100)
    void a.host.terminate()
    for (let n = 0; n < 3; n++) {
      step()
      clock.advance(REMOVE_MS)
    }
    expect(workers[0]!.isTerminated).toBe(false)
    clock.advance(REMOVE_MS)
    expect(workers[0]!.isTerminated).toBe(true)
  })
})

describe('the heartbeat of a slot', () => {
  it('is answered while another slot of the thread goes on in a long call, and not while its own does', () => {
    const [a, b, c] = [new Started(), new Started(), new Started()]
    const { step } = deploy(c).begin({ slot: 0, attempt: 1 }, 3, 100)
    const beat = (): number[] => {
      const before = [a, b, c].map(({ reports }) => reports.length)
      for (const { host } of [a, b, c]) host.send(PING)
      return [a, b, c].map(({ reports }, n) => reports.length - before[n]!)
    }
    expect(beat()).toEqual([0, 0, 0])
    step()
    expect(beat()).toEqual([1, 0, 0])
    expect(a.reports).toEqual([{ kind: 'pong', attempt: 0 }])
    expect(beat()).toEqual([0, 0, 0])
  })
})
