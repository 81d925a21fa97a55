import type { AssignMembers, GroupMember } from '../../connectors/kafka/group/member.ts'
import { isGroupError } from '../../connectors/kafka/group/membership-loss.ts'
import type { Clock } from '../../core/clock.ts'
import { asWeirError, isWeirError, WeirError } from '../../core/errors.ts'
import type { Random } from '../../core/random.ts'
import type { JobExecution } from '../../runtime/job/execution.ts'
import { decodeAssignment, NO_MAP } from './decisions/assignment-data.ts'
import { GROUP_FORMATS } from './decisions/frame.ts'
import { judgeAssignment } from './decisions/judge-assignment.ts'
import { encodeMemberData, type JobIdentity } from './decisions/member-data.ts'
import {
  claimsOf,
  type ExitReason,
  type MemberAction,
  type MemberEvent,
  newMember,
  refusalsOf,
} from './decisions/member-state.ts'
import { memberTransition } from './decisions/member-transition.ts'
import { planRound } from './decisions/plan-round.ts'
import type { AssignRules } from './decisions/planning-board.ts'
import { notReadyBecause } from './health/not-ready.ts'
import type { Membership, OperatedProcess } from './operations/operated-process.ts'
import { type CreatePartition, OwnedPartitions } from './owned-partitions.ts'
import { PeerLinks } from './peers/peer-links.ts'
import type { PeerSocket } from './peers/peer-socket.ts'
import type { ProcessListener } from './process-events.ts'
import type { ProcessQueries } from './queries/process-queries.ts'

/** A partition that could not be restored is not taken again for so long, ms. */
const REFUSAL_MS = 30_000
/** Time between two tries to join a group that does not answer, ms. */
const RETRY_MS = 1_000

/** Partitions move at once: no process follows one that it does not own. */
const RULES: AssignRules = {
  standbyReplicas: 0,
  acceptableLag: Number.POSITIVE_INFINITY,
  maxWarmUps: 0,
}

/** Options of a process. */
export interface JobProcessOptions {
  readonly member: GroupMember
  readonly job: JobIdentity
  readonly create: CreatePartition
  readonly clock: Clock
  /** Names each call to join, so that no two say the same. */
  readonly random: Random
  readonly heartbeatMs: number
  /** Longest time of its handover when it leaves; after it, it releases what it has, also to no other process. */
  readonly graceMs: number
  /** Share of the partitions that it takes, relative to the others'. */
  readonly capacity: number
  /** Version of this build. */
  readonly version: string
  /** Topics whose partitions tools show as those of their owners. */
  readonly topics: readonly string[]
  readonly listener: ProcessListener
  /** Socket by which others of this machine see that the process lives; undefined where there is none. */
  readonly socket?: PeerSocket | undefined
  /** Queries of the state of its partitions; undefined where it answers none. */
  readonly queries?: ProcessQueries | undefined
  /** How others reach it, `peer-address.ts`. @default no way */
  readonly address?: string
}

/**
 * One of the processes of a job: a member of its group, which runs the job partitions that the group gives it. What
 * it does is decided by `memberTransition`; here it is done.
 */
export class JobProcess implements OperatedProcess {
  /** Resolves when it has left the group; rejects with STATE_CONFLICT where the group does not take it. */
  readonly ended: Promise<void>
  private readonly ending = Promise.withResolvers<void>()
  private readonly options: JobProcessOptions
  private readonly partitions: OwnedPartitions
  private readonly links: PeerLinks
  private state = newMember()
  private seen: Pick<Membership, 'memberId' | 'isLeader' | 'map' | 'self'> = {
    ...{ memberId: '', isLeader: false, map: NO_MAP, self: undefined },
  }
  private isDraining = false
  private isOver = false

  constructor(options: JobProcessOptions) {
    const { create, listener } = options
    this.options = options
    this.ended = this.ending.promise
    this.ended.catch(() => undefined)
    this.partitions = new OwnedPartitions(create, {
      running: (partition) => listener({ kind: 'running', partition }),
      warned: (partition, error) => listener({ kind: 'warning', partition, error }),
      failed: (partition, error) => this.failed(partition, error),
    })
    this.links = new PeerLinks(options.clock, (memberId) => void this.remove(memberId))
    void this.join()
  }

  /** Partitions that it runs, ascending. */
  get owned(): readonly number[] {
    return this.partitions.all
  }

  get executions(): ReadonlyMap<number, JobExecution> {
    return this.partitions.executions
  }

  get membership(): Membership {
    return { ...this.seen, state: this.state, isDraining: this.isDraining }
  }

  /** Why it cannot do its work now, a sentence each, without addresses; none where it can. */
  get notReady(): readonly string[] {
    return notReadyBecause(this.state, this.partitions.running)
  }

  rebalance(isDraining: boolean): void {
    this.isDraining = isDraining
    if (!isDraining) this.on({ kind: 'probe', nowMs: Number.POSITIVE_INFINITY })
    this.on({ kind: 'changed' })
  }

  /** See `OperatedProcess.end`. Rejects as `ended`. */
  async end(withCheckpoint: boolean): Promise<void> {
    if (withCheckpoint) {
      this.on({ kind: 'terminate' })
      this.on({ kind: 'grace-over' })
    } else await this.abandonAll()
    await this.ended
  }

  /** Hands over all partitions, each with a last checkpoint, and leaves the group. Rejects as `ended`. */
  async leave(): Promise<void> {
    this.on({ kind: 'terminate' })
    const cancel = this.options.clock.after(this.options.graceMs, () =>
      this.on({ kind: 'grace-over' }),
    )
    await this.ended.finally(cancel)
  }

  private on(event: MemberEvent): void {
    if (this.isOver) return
    const { state, actions } = memberTransition(this.state, event)
    this.state = state
    for (const action of actions) this.execute(action)
  }

  private execute(action: MemberAction): void {
    const { partitions } = this
    switch (action.kind) {
      case 'start':
        for (const partition of action.partitions) void partitions.start(partition)
        return
      case 'release':
        for (const partition of action.partitions) void this.release(partition)
        return
      case 'abandon':
        for (const partition of action.partitions) void this.abandon(partition)
        return
      case 'join':
        void this.join()
        return
      case 'exit':
        void this.exit(action.reason)
        return
      case 'hold':
      case 'resume':
      case 'leave':
        // Storage fences the partitions of a process that has lost them; `exit` leaves.
        return
    }
  }

  private async release(partition: number): Promise<void> {
    this.options.queries?.stopped(partition)
    await this.partitions.release(partition)
    this.options.listener({ kind: 'released', partition })
    this.on({ kind: 'released', partition })
  }

  private async abandon(partition: number): Promise<void> {
    this.options.queries?.stopped(partition)
    await this.partitions.abandon(partition)
    this.on({ kind: 'stopped', partition })
  }

  private async join(): Promise<void> {
    const { member, job, random, listener, clock, queries } = this.options
    const joinId = random.below(2 ** 32)
    const sentAtMs = clock.monotonicMs()
    try {
      const generation = await member.join(this.userData(joinId), this.assign)
      const { generationId, memberId, isLeader } = generation
      queries?.answered(sentAtMs)
      const given = decodeAssignment(generation.assignment.userData)
      this.options.socket?.announce(memberId)
      const verdict = judgeAssignment(given, { joinId, job })
      if (verdict === 'foreign') {
        this.on({ kind: 'round-over' })
        return
      }
      const { refusal, active, release, warmUp, map, self } = given
      this.seen = { memberId, isLeader, map, self }
      this.links.follow(map.addresses.filter((_, place) => place !== self))
      queries?.assigned(generationId, map)
      listener({
        ...{ kind: 'joined', generation: generationId, memberId, isLeader, active, release },
      })
      this.on({
        ...{ kind: 'assigned', generation: generationId, active, release, warmUp, refusal },
        isEarlier: verdict === 'earlier',
      })
      void this.sendHeartbeats(generationId)
    } catch (error) {
      await this.afterFailedJoin(error)
    }
  }

  /** Removes a process that is gone from the group, which would wait for the end of its session. */
  private async remove(memberId: string): Promise<void> {
    const { member, listener } = this.options
    if (this.isOver || memberId === member.generation?.memberId) return
    try {
      await member.remove(memberId)
      listener({ kind: 'removed', memberId })
      this.on({ kind: 'rebalancing' })
    } catch (error) {
      const problem = asWeirError(error, 'CONNECTOR_FAILED')
      listener({ kind: 'warning', partition: undefined, error: problem })
    }
  }

  private readonly assign: AssignMembers = (members) => {
    const { topics } = this.options
    const shares = [...planRound(members, { rules: RULES })]
    return new Map(
      shares.map(([memberId, { active, userData }]) => [
        memberId,
        { userData, topicPartitions: new Map(topics.map((topic) => [topic, active])) },
      ]),
    )
  }

  private async afterFailedJoin(error: unknown): Promise<void> {
    if (this.isOver) return
    if (isGroupError(error, 'fenced')) this.on({ kind: 'fenced-instance' })
    else if (isGroupError(error)) this.on({ kind: 'round-over' })
    else if (isWeirError(error) && error.retryable) {
      this.options.listener({ kind: 'warning', partition: undefined, error })
      this.on({ kind: 'silence' })
      await this.sleep(RETRY_MS)
      if (!this.isOver) await this.join()
    } else await this.fail(asWeirError(error, 'CONNECTOR_FAILED'))
  }

  /**
   * Sends signs of life until the next generation, also while a round waits: only so the member notices that the
   * coordinator of the group has moved. Answers count while the process is a member of this generation.
   */
  private async sendHeartbeats(generation: number): Promise<void> {
    const { member, heartbeatMs, clock, queries } = this.options
    const isLatest = (): boolean => !this.isOver && this.state.generation === generation
    const isMember = (): boolean => isLatest() && this.state.membership === 'member'
    while (isLatest()) {
      await this.sleep(heartbeatMs)
      if (!isLatest()) return
      const sentAtMs = clock.monotonicMs()
      try {
        const answer = await member.heartbeat()
        if (isLatest()) queries?.answered(sentAtMs)
        if (isMember()) this.on({ kind: answer === 'stable' ? 'alive' : 'rebalancing' })
      } catch (error) {
        if (isMember()) await this.afterSilence(error)
      }
    }
  }

  private async afterSilence(error: unknown): Promise<void> {
    const { listener } = this.options
    const problem = asWeirError(error, 'CONNECTOR_FAILED')
    if (isGroupError(error)) {
      if (error.loss === 'rebalancing') this.on({ kind: 'rebalancing' })
      else {
        this.options.queries?.lost()
        listener({ kind: 'lost', error })
        this.on({ kind: error.loss === 'fenced' ? 'fenced-instance' : error.loss })
      }
    } else if (problem.retryable) {
      listener({ kind: 'warning', partition: undefined, error: problem })
      this.on({ kind: 'silence' })
    } else await this.fail(problem)
  }

  private failed(partition: number, error: WeirError): void {
    if (this.isOver) return
    const { clock, listener, queries } = this.options
    queries?.stopped(partition)
    listener({ kind: 'failed', partition, error })
    // A partition that another process has taken over is there; others may be restored elsewhere.
    const delayMs = error.code === 'COORDINATOR_FENCED' ? 0 : REFUSAL_MS
    const retryAtMs = clock.monotonicMs() + delayMs
    this.on({ kind: 'failed', partition, retryAtMs })
    clock.after(delayMs + 1, () => this.on({ kind: 'probe', nowMs: clock.monotonicMs() }))
  }

  private userData(joinId: number): Uint8Array {
    const { job, capacity, version, clock } = this.options
    const { state } = this
    const owned = claimsOf(state)
    return encodeMemberData({
      understands: GROUP_FORMATS,
      ...{ joinId, processVersion: version, job, capacity },
      address: this.options.address ?? '',
      isDraining: state.isLeaving || this.isDraining,
      generation: owned.length === 0 ? undefined : state.generation,
      ...{ owned, standbys: [], refused: refusalsOf(state, clock.monotonicMs()) },
    })
  }

  private async exit(reason: ExitReason): Promise<void> {
    if (reason.kind === 'refused') return await this.fail(refusedBy(reason.text))
    if (reason.kind === 'instance-taken') return await this.fail(instanceTaken())
    this.isOver = true
    const { member, listener } = this.options
    try {
      await member.leave()
      listener({ kind: 'left' })
    } catch (error) {
      listener({
        kind: 'warning',
        partition: undefined,
        error: asWeirError(error, 'CONNECTOR_FAILED'),
      })
    }
    this.links.close()
    await member.close()
    this.ending.resolve()
  }

  private async fail(error: WeirError): Promise<void> {
    await this.abandonAll(error)
  }

  /** Ends without a checkpoint, and rejects `ended` with `error`. */
  private async abandonAll(error?: WeirError): Promise<void> {
    if (this.isOver) return
    this.isOver = true
    this.links.close()
    const { member, listener } = this.options
    await this.partitions.abandonAll()
    // The others find out by its silence otherwise.
    await member.leave().catch(() => undefined)
    await member.close()
    if (error !== undefined) this.ending.reject(error)
    else {
      listener({ kind: 'left' })
      this.ending.resolve()
    }
  }

  private sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.options.clock.after(ms, resolve))
  }
}

function refusedBy(text: string): WeirError {
  return new WeirError('STATE_CONFLICT', `the processes of this job do not take this one: ${text}`)
}

function instanceTaken(): WeirError {
  const message =
    'another process has joined with the same group.instance.id: give each process its own name, or end this one'
  return new WeirError('STATE_CONFLICT', message)
}
