import { describe, expect, it } from 'vitest'
import { LearningCoordinator } from '../../../src/jobs/learning/coordinator.ts'
import type { LearnableVersion, WorseReport } from '../../../src/jobs/learning/messages.ts'
import { ProgressBoard } from '../../../src/state/catalog/progress-board.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

interface Sent {
  readonly kind: string
  readonly version?: number
  readonly metadata?: { readonly version: number }
  readonly constants?: number
  readonly known?: readonly number[]
  readonly phase?: number
  readonly phases?: readonly (readonly [number, number])[]
  readonly resumeOffsets?: readonly unknown[]
  readonly inFlight?: SharedArrayBuffer
}

/** The operators of a job of two slots, as the coordinator sees them. */
class FakeJob {
  readonly clock = new ManualClock()
  readonly board = ProgressBoard.create(2, 1)
  readonly learningOn: number[] = []
  /** Whether learning was stopped, by call of `onLearning`. */
  readonly stopped: boolean[] = []
  readonly worse: WorseReport[] = []
  readonly coordinator: LearningCoordinator<LearnableVersion, number>
  readonly uids: readonly string[]
  attempt = 0
  isReadable = true
  private sent: (Sent & { readonly to: string })[] = []

  constructor(learners = true, neverStop = false) {
    this.coordinator = new LearningCoordinator<LearnableVersion, number>({
      gates: ['ratings', 'deltas'],
      learners: learners
        ? { uid: 'model', merge: (parts) => parts.reduce((sum, part) => sum + part, 0) }
        : undefined,
      clock: this.clock,
      onLearning: (version, isStopped) => {
        this.learningOn.push(version)
        this.stopped.push(isStopped)
      },
      onWorse: (report) => this.worse.push(report),
      neverStop,
    })
    this.uids = Object.keys(this.coordinator.coordinators)
  }

  /** Starts an attempt whose slots have applied the model topic up to an offset. */
  start(applied: number): void {
    this.attempt++
    this.applied(applied)
    for (const operatorUid of this.uids) {
      this.coordinator.coordinators[operatorUid]!.start({
        operatorUid,
        parallelism: 2,
        attempt: this.attempt,
        board: this.board,
        readersAreUpToDate: () => this.isReadable,
        sendEvent: (_subtask, event) => this.sent.push({ ...(event as Sent), to: operatorUid }),
      })
    }
  }

  applied(offset: number): void {
    for (const slot of [0, 1]) this.board.setProgress(slot, 0, offset, 1)
  }

  open(known: readonly number[] = [], phases: readonly (readonly [number, number])[] = []): void {
    for (const subtask of [0, 1]) {
      this.from('model', subtask, { kind: 'opened', known, phases })
      for (const uid of ['ratings', 'deltas']) this.from(uid, subtask, { kind: 'gate-opened' })
    }
  }

  from(uid: string, subtask: number, event: unknown): void {
    this.coordinator.coordinators[uid]?.handleEvent(subtask, event)
  }

  measured(version: number, constants: readonly [number, number], kept = false): void {
    for (const [slot, each] of constants.entries()) {
      this.from('model', slot, { kind: 'measured', version, kept, constants: each })
    }
  }

  begun(version: number): void {
    for (const slot of [0, 1]) this.from('model', slot, { kind: 'begun', version })
  }

  /** What was sent since the last call. */
  take(): (Sent & { readonly to: string })[] {
    return this.sent.splice(0)
  }

  /** A slot says that the predictions of a version are certainly worse in a phase. */
  reportWorse(version: number, phase: number): void {
    this.from('model', 1, { kind: 'worse', version, phase, loss: 9, frozenLoss: 1 })
  }

  /** Takes a version through the hand-shake. */
  learn(version: number, constants: readonly [number, number] = [1, 2]): void {
    this.coordinator.live(version, { version })
    this.measured(version, constants)
    this.begun(version)
  }
}

const kinds = (sent: readonly Sent[]): string[] => sent.map(({ kind }) => kind)

describe('the coordinator of learning', () => {
  it('takes learners and gates through the steps of a version', () => {
    const job = new FakeJob()
    job.start(5)
    job.open([4])
    expect(job.take()).toEqual([])
    const resumeOffsets = [{ partition: 0, start: 0, next: 3 }]
    job.coordinator.live(7, { version: 7, resumeOffsets })
    expect(job.take()).toEqual([
      { to: 'model', kind: 'measure', metadata: { version: 7, resumeOffsets } },
    ])
    job.measured(7, [1, 2])
    const [begin] = job.take()
    expect(begin).toMatchObject({ to: 'model', kind: 'begin', constants: 3 })
    job.begun(7)
    const orders = job.take()
    expect(orders.map(({ to }) => to)).toEqual(['ratings', 'deltas'])
    expect(orders[0]).toEqual({
      to: 'ratings',
      kind: 'let-through',
      version: 7,
      resumeOffsets,
      known: [4, 7],
      inFlight: begin!.inFlight,
    })
    expect(job.learningOn).toEqual([7])
  })

  it('lets gates through at once where no learner must prepare', () => {
    const job = new FakeJob(false)
    job.start(5)
    job.coordinator.live(7, { version: 7 })
    expect(job.take()).toEqual([])
    job.open()
    expect(kinds(job.take())).toEqual(['let-through', 'let-through'])
    expect(job.learningOn).toEqual([7])
  })

  it('waits after a restart until the rows of the version are applied again', () => {
    const job = new FakeJob()
    job.start(5)
    job.open()
    job.learn(7)
    job.take()
    job.start(2)
    job.open()
    expect(job.take()).toEqual([])
    job.applied(4)
    job.clock.advance(10)
    expect(job.take()).toEqual([])
    job.applied(5)
    job.clock.advance(10)
    expect(kinds(job.take())).toEqual(['measure'])
  })

  it('waits until every slot can read the rows of the others', () => {
    const job = new FakeJob()
    job.start(5)
    job.isReadable = false
    job.open()
    job.coordinator.live(7, { version: 7 })
    job.clock.advance(10)
    expect(job.take()).toEqual([])
    job.isReadable = true
    job.clock.advance(10)
    expect(kinds(job.take())).toEqual(['measure'])
  })

  it('begins a version again with the constants that it began with', () => {
    const job = new FakeJob()
    job.start(5)
    job.open()
    job.learn(7, [1, 2])
    job.start(5)
    job.open()
    job.take()
    job.measured(7, [30, 40])
    expect(job.take()).toMatchObject([{ kind: 'begin', constants: 3 }])
  })

  it('counts the observations in flight from the start in every attempt', () => {
    const job = new FakeJob()
    const buffers = [1, 2].map(() => {
      job.start(5)
      job.open()
      job.learn(7)
      return job.take().at(-1)!.inFlight
    })
    expect(buffers[0]).toBeInstanceOf(SharedArrayBuffer)
    expect(buffers[1]).not.toBe(buffers[0])
  })

  it('begins the versions before the live one again: their deltas may still come', () => {
    const job = new FakeJob()
    job.start(5)
    job.open()
    for (const version of [1, 2, 3, 4, 5]) job.learn(version)
    job.start(5)
    job.open()
    job.measured(5, [1, 2])
    const begun = job.take().filter(({ kind }) => kind === 'begin')
    expect(begun.slice(-4).map(({ metadata }) => metadata!.version)).toEqual([2, 3, 4, 5])
    job.begun(5)
    expect(job.take()[0]).toMatchObject({ kind: 'let-through', known: [2, 3, 4, 5] })
  })

  it('learns on the version before while the metadata of the live one is on its way', async () => {
    const job = new FakeJob()
    job.start(5)
    job.open()
    job.learn(7)
    job.take()
    const metadata = Promise.withResolvers<LearnableVersion>()
    job.coordinator.live(8, metadata.promise)
    expect(job.take()).toEqual([])
    metadata.resolve({ version: 8 })
    await metadata.promise
    expect(job.take()).toMatchObject([{ kind: 'measure', metadata: { version: 8 } }])
  })

  it('stays with the version before when the metadata of the live one fails', async () => {
    const job = new FakeJob()
    job.start(5)
    job.open()
    job.learn(7)
    job.take()
    const failed = Promise.withResolvers<LearnableVersion>()
    job.coordinator.live(8, failed.promise)
    failed.reject(new Error('damaged'))
    await failed.promise.catch(() => undefined)
    expect(job.take()).toEqual([])
    expect(job.learningOn).toEqual([7])
  })

  it('does not learn on a version that another one has replaced meanwhile', async () => {
    const job = new FakeJob()
    job.start(5)
    job.open()
    const late = Promise.withResolvers<LearnableVersion>()
    job.coordinator.live(8, late.promise)
    job.learn(9)
    job.take()
    late.resolve({ version: 8 })
    await late.promise
    expect(job.take()).toEqual([])
    expect(job.learningOn).toEqual([9])
  })

  it('sends nothing after it was closed', () => {
    const job = new FakeJob()
    job.start(5)
    job.open()
    job.coordinator.close()
    job.coordinator.live(7, { version: 7 })
    job.clock.advance(100)
    expect(job.take()).toEqual([])
  })
})

describe('learning that makes predictions worse', () => {
  it('is stopped in all slots, and resumed by a later phase', () => {
    const job = new FakeJob()
    job.start(5)
    job.open()
    job.learn(7)
    job.take()
    job.reportWorse(7, 0)
    expect(job.worse).toMatchObject([{ version: 7, phase: 0, loss: 9, frozenLoss: 1 }])
    // A slot that found the same at the same time.
    job.reportWorse(7, 0)
    expect(job.worse).toHaveLength(1)
    job.measured(7, [1, 2], true)
    expect(job.take()).toMatchObject([{ kind: 'measure' }, { kind: 'begin', phase: 1 }])
    job.begun(7)
    expect(job.take()[0]).toMatchObject({ kind: 'let-through', phases: [[7, 1]] })
    expect(job.stopped).toEqual([false, true])
    // What the registry says may be older than what the job knows.
    for (const phase of [0, 1]) job.coordinator.setPhase(7, phase)
    expect(job.take()).toEqual([])
    job.coordinator.setPhase(7, 2)
    job.measured(7, [1, 2], true)
    expect(job.take().at(-1)).toMatchObject({ kind: 'begin', phase: 2 })
    job.begun(7)
    expect(job.take()[0]).toMatchObject({ kind: 'let-through', phases: [[7, 2]] })
    expect(job.stopped).toEqual([false, true, false])
  })

  it('stays stopped after a restart, also where only one slot of the checkpoint was', () => {
    const job = new FakeJob()
    job.start(5)
    job.open([7], [[7, 1]])
    job.learn(7)
    expect(job.take().find(({ kind }) => kind === 'begin')).toMatchObject({ phase: 1 })
    expect(job.stopped).toEqual([true])
    job.start(5)
    job.open()
    job.measured(7, [1, 2], true)
    job.begun(7)
    expect(job.stopped).toEqual([true, true])
  })

  it('of a version that is not live any more stops nothing', () => {
    const job = new FakeJob()
    job.start(5)
    job.open()
    job.learn(7)
    job.learn(8)
    job.take()
    job.reportWorse(7, 0)
    expect(job.take()).toEqual([])
    expect(job.worse).toEqual([])
  })

  it('goes on where it is never to stop', () => {
    const job = new FakeJob(true, true)
    job.start(5)
    job.open([7], [[7, 1]])
    job.learn(7)
    expect(job.take().find(({ kind }) => kind === 'begin')).toMatchObject({ phase: 2 })
    expect(job.stopped).toEqual([false])
  })
})
