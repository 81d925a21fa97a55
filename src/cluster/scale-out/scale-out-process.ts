import type { Generation, GroupMember } from '../../connectors/kafka/group/member.ts'
import { type GroupError, isGroupError } from '../../connectors/kafka/group/membership-loss.ts'
import type { Clock } from '../../core/clock.ts'
import { asWeirError, WeirError } from '../../core/errors.ts'
import { type Assignment, decodeAssignment } from './decisions/assignment-data.ts'
import { GROUP_FORMATS } from './decisions/frame.ts'
import { encodeMemberData, type JobIdentity } from './decisions/member-data.ts'
import { planRound } from './decisions/plan-round.ts'
import type { AssignRules } from './decisions/planning-board.ts'
import { type CreatePartition, OwnedPartitions } from './owned-partitions.ts'
import type { ProcessListener } from './process-events.ts'

/** A partition that could not be restored is not taken again for so long, ms. */
const REFUSAL_MS = 30_000
/** Time between two tries to reach the group, ms. */
const RETRY_MS = 1_000

/** Partitions move at once: no process follows one that it does not own. */
const RULES: AssignRules = {
  standbyReplicas: 0,
  acceptableLag: Number.POSITIVE_INFINITY,
  maxWarmUps: 0,
}

/** Options of a process. */
export interface ScaleOutProcessOptions {
  readonly member: GroupMember
  readonly job: JobIdentity
  readonly create: CreatePartition
  readonly clock: Clock
  readonly heartbeatMs: number
  /** Share of the partitions that it takes, relative to the others'. */
  readonly capacity: number
  /** Version of this build. */
  readonly version: string
  /** Topics whose partitions tools show as those of their owners. */
  readonly topics: readonly string[]
  readonly listener: ProcessListener
}

/**
 * One of the processes of a job: a member of its group, which runs the job partitions that the group gives it. It
 * ends when it has left, or when the group does not take it: `ended` then rejects.
 */
export class ScaleOutProcess {
  /** Resolves when it has left the group; rejects with STATE_CONFLICT where the group refuses it. */
  readonly ended: Promise<void>
  private readonly options: ScaleOutProcessOptions
  private readonly partitions: OwnedPartitions
  private readonly refused = new Map<number, number>()
  /** Generation under which it got what it owns. */
  private generation: number | undefined
  private mustJoin = false
  private isLeaving = false
  private wake: (() => void) | undefined

  constructor(options: ScaleOutProcessOptions) {
    const { create, listener } = options
    this.options = options
    this.partitions = new OwnedPartitions(create, {
      running: (partition) => listener({ kind: 'running', partition }),
      warned: (partition, error) => listener({ kind: 'warning', partition, error }),
      failed: (partition, error) => this.failed(partition, error),
    })
    this.ended = this.run()
    this.ended.catch(() => undefined)
  }

  /** Partitions that it runs, ascending. */
  get owned(): readonly number[] {
    return this.partitions.all
  }

  /** Hands over all partitions, each with a last checkpoint, and leaves the group. */
  async leave(): Promise<void> {
    this.isLeaving = true
    this.wakeUp()
    await this.ended
  }

  private async run(): Promise<void> {
    const { member, listener } = this.options
    try {
      while (!this.isLeaving) await this.round()
      await this.endAll((partition) => this.partitions.release(partition))
      await member.leave()
      listener({ kind: 'left' })
    } catch (error) {
      await this.endAll((partition) => this.partitions.abandon(partition))
      throw error
    } finally {
      await member.close()
    }
  }

  /** One membership: joins, and stays until there is a reason to join again. */
  private async round(): Promise<void> {
    try {
      this.mustJoin = false
      const generation = await this.options.member.join(this.userData(), (members) =>
        this.plan(members),
      )
      this.apply(generation)
      await this.untilNextRound()
    } catch (error) {
      await this.handle(error)
    }
  }

  private plan(members: Parameters<typeof planRound>[0]) {
    const { topics } = this.options
    const shares = planRound(members, { rules: RULES })
    return new Map(
      [...shares].map(([memberId, { active, userData }]) => [
        memberId,
        { userData, topicPartitions: new Map(topics.map((topic) => [topic, active])) },
      ]),
    )
  }

  private apply({ generationId, memberId, isLeader, assignment: given }: Generation): void {
    const assignment = decodeAssignment(given.userData)
    const { refusal, active, release } = assignment
    if (refusal !== undefined) throw refusedBy(refusal.text)
    this.generation = generationId
    this.options.listener({
      ...{ kind: 'joined', generation: generationId, memberId, isLeader, active, release },
    })
    this.follow(assignment)
  }

  private follow({ active, release }: Assignment): void {
    const { partitions } = this
    const kept = new Set([...active, ...release])
    for (const partition of partitions.all)
      if (!kept.has(partition)) void partitions.abandon(partition)
    for (const partition of active) void partitions.start(partition)
    for (const partition of release) void this.release(partition)
  }

  private async release(partition: number): Promise<void> {
    await this.partitions.release(partition)
    this.options.listener({ kind: 'released', partition })
    this.joinAgain()
  }

  /** Sends signs of life until the group or this process wants another round. */
  private async untilNextRound(): Promise<void> {
    const { member, heartbeatMs } = this.options
    while (!this.mustJoin && !this.isLeaving) {
      await this.sleep(heartbeatMs)
      if (this.mustJoin || this.isLeaving) return
      if ((await member.heartbeat()) === 'rebalancing') return
    }
  }

  private async handle(error: unknown): Promise<void> {
    const { listener } = this.options
    if (isGroupError(error)) return await this.lost(error)
    const problem = asWeirError(error, 'CONNECTOR_FAILED')
    if (!problem.retryable) throw problem
    // Whoever takes a partition over fences this process, so it may go on meanwhile.
    listener({ kind: 'warning', partition: undefined, error: problem })
    await this.sleep(RETRY_MS)
  }

  private async lost(error: GroupError): Promise<void> {
    if (error.loss === 'fenced') throw error
    this.options.listener({ kind: 'lost', error })
    await this.endAll((partition) => this.partitions.abandon(partition))
    this.generation = undefined
  }

  private failed(partition: number, error: WeirError): void {
    const { clock, listener } = this.options
    listener({ kind: 'failed', partition, error })
    this.refused.set(partition, clock.monotonicMs() + REFUSAL_MS)
    clock.after(REFUSAL_MS, () => {
      this.refused.delete(partition)
      this.joinAgain()
    })
    this.joinAgain()
  }

  private userData(): Uint8Array {
    const { job, capacity, version, clock } = this.options
    const owned = this.partitions.all
    const nowMs = clock.monotonicMs()
    const refused = [...this.refused].map(([partition, untilMs]) => ({
      partition,
      retryAfterMs: Math.max(0, Math.ceil(untilMs - nowMs)),
    }))
    return encodeMemberData({
      understands: GROUP_FORMATS,
      ...{ processVersion: version, address: '', job, capacity, isDraining: false },
      generation: owned.length === 0 ? undefined : this.generation,
      ...{ owned, standbys: [], refused: refused.toSorted((a, b) => a.partition - b.partition) },
    })
  }

  private async endAll(end: (partition: number) => Promise<void>): Promise<void> {
    await Promise.all(this.partitions.all.map(end))
  }

  private joinAgain(): void {
    this.mustJoin = true
    this.wakeUp()
  }

  private sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.options.clock.after(ms, resolve)
      this.wake = () => {
        cancel()
        resolve()
      }
    })
  }

  private wakeUp(): void {
    this.wake?.()
    this.wake = undefined
  }
}

function refusedBy(text: string): WeirError {
  return new WeirError('STATE_CONFLICT', `the processes of this job do not take this one: ${text}`)
}
