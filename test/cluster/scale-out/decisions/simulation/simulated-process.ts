import { decodeAssignment } from '../../../../../src/cluster/scale-out/decisions/assignment-data.ts'
import { GROUP_FORMATS } from '../../../../../src/cluster/scale-out/decisions/frame.ts'
import { judgeAssignment } from '../../../../../src/cluster/scale-out/decisions/judge-assignment.ts'
import { encodeMemberData } from '../../../../../src/cluster/scale-out/decisions/member-data.ts'
import {
  claimsOf,
  type MemberAction,
  type MemberEvent,
  type MemberState,
  newMember,
  refusalsOf,
} from '../../../../../src/cluster/scale-out/decisions/member-state.ts'
import { jobOf } from '../members.ts'
import type { GroupError, JoinAnswer, SyncAnswer } from './simulated-coordinator.ts'
import { type ProcessFacts, type ProcessWorld, SimulatedMachine } from './simulated-machine.ts'
import type { Commit } from './simulated-pointers.ts'
import { type Sight, SimulatedTask } from './simulated-task.ts'

/** A process of the job: the real decisions, and simulated work. */
export class SimulatedProcess extends SimulatedMachine {
  /** Partitions in its hands. */
  readonly tasks: Map<number, SimulatedTask> = new Map()
  memberId = ''
  /** Followed partitions with the time from which they are warm. */
  private readonly following = new Map<number, number>()
  private saidWarm = new Set<number>()
  private state: MemberState = newMember()
  private generation = -1
  private joins = 0
  private joinId = 0
  private isJoinOnItsWay = false
  private isHeld = false
  private commits = 0
  private openCommit: Commit | undefined

  constructor(world: ProcessWorld, facts: ProcessFacts) {
    super(world, facts)
    this.join('new')
    this.beat()
    this.work()
  }

  /** Whether it would answer a `live` query for a partition now. */
  answersLive(partition: number): boolean {
    const task = this.tasks.get(partition)
    if (task === undefined || !this.isLeased) return false
    return task.answersLive(this.sight())
  }

  /** Whether it runs a partition and can commit it. */
  serves(partition: number): boolean {
    return !this.hasEnded && !this.isPaused && this.tasks.get(partition)?.phase === 'running'
  }

  get isLeaving(): boolean {
    return this.state.isLeaving
  }

  /** Number of partitions that it has. */
  get load(): number {
    return claimsOf(this.state).length
  }

  override kill(): void {
    super.kill()
    this.tasks.clear()
  }

  override resume(): void {
    if (this.isPaused && !this.hasEnded)
      this.world.queue.after(0, () => this.whenRunning(() => this.look()))
    super.resume()
  }

  /** SIGTERM, and after it the end of the time for the handover. */
  terminate(graceMs: number): void {
    this.whenRunning(() => this.on({ kind: 'terminate' }))
    this.later(graceMs, () => this.on({ kind: 'grace-over' }))
  }

  private on(event: MemberEvent): void {
    const { state, actions } = this.world.decisions.transition(this.state, event)
    this.state = state
    for (const action of actions) this.act(action)
  }

  private act(action: MemberAction): void {
    switch (action.kind) {
      case 'start':
        for (const partition of action.partitions) this.start(partition)
        return
      case 'release':
        for (const partition of action.partitions) this.release(partition)
        return
      case 'abandon':
        this.openCommit = undefined
        for (const partition of action.partitions) this.abandon(partition)
        return
      case 'hold':
      case 'resume':
        this.isHeld = action.kind === 'hold'
        return
      case 'join':
        this.join(action.as)
        return
      case 'leave':
        this.leave()
        return
      case 'exit':
        this.kill()
    }
  }

  private start(partition: number): void {
    const { world } = this
    const task = new SimulatedTask(this.nowMs())
    this.tasks.set(partition, task)
    world.started(this.facts.id, partition)
    const isWarm = (this.following.get(partition) ?? Number.POSITIVE_INFINITY) <= this.nowMs()
    this.following.delete(partition)
    task.restore(world.pointers.read(partition))
    this.later(world.timeOf(isWarm ? 'warm-restore' : 'restore'), () => {
      if (this.tasks.get(partition) !== task) return
      if (task.phase === 'releasing') this.releaseDone(partition)
      if (task.phase !== 'restoring') return
      if (world.restoreFails()) this.fail(partition)
      else task.phase = 'running'
    })
  }

  private fail(partition: number): void {
    this.tasks.delete(partition)
    this.on({ kind: 'failed', partition, retryAtMs: this.nowMs() + 4_000 })
    this.later(4_100, () => this.on({ kind: 'probe', nowMs: this.nowMs() }))
  }

  /** What is not restored yet has nothing to write. */
  private release(partition: number): void {
    const task = this.tasks.get(partition)!
    const isIdle = task.phase === 'restoring'
    task.phase = 'releasing'
    if (isIdle) this.later(0, () => this.releaseDone(partition))
  }

  private releaseDone(partition: number): void {
    if (this.tasks.get(partition)?.phase !== 'releasing') return
    this.tasks.delete(partition)
    this.on({ kind: 'released', partition })
  }

  private abandon(partition: number): void {
    const task = this.tasks.get(partition)
    if (task !== undefined) task.phase = 'stopping'
    this.later(this.world.timeOf('stop'), () => {
      this.tasks.delete(partition)
      this.on({ kind: 'stopped', partition })
    })
  }

  /** One transaction of all partitions, each commit interval. */
  private work(): void {
    this.later(this.world.commitMs, () => {
      this.work()
      if (this.openCommit === undefined && !this.isHeld && this.generation >= 0) this.commit()
    })
  }

  private sight(): Sight {
    const { lease: rules, refuses, decisions } = this.world
    return { nowMs: this.nowMs(), rules, refuses, isSettled: decisions.isSettled }
  }

  private commit(): void {
    const entries: Commit['entries'][number][] = []
    const sight = this.sight()
    for (const [partition, task] of this.tasks) {
      const { phase, base } = task
      if (phase !== 'running' && phase !== 'releasing') continue
      const mark = { wasSettled: task.isSettled(sight), wasReleased: phase === 'releasing' }
      entries.push({ partition, from: base, to: base + 1, mark })
    }
    if (entries.length === 0) return
    const { id } = this.facts
    this.openCommit = { id: `${id}-${++this.commits}`, by: id, entries }
    this.sendCommit(this.openCommit)
  }

  private sendCommit(commit: Commit): void {
    const { coordinator, retryMs } = this.world
    const caller = this.caller()
    this.ask<GroupError | undefined>(
      (answer) => answer(coordinator.commit(caller, commit)),
      (error) => {
        if (this.openCommit !== commit) return
        this.openCommit = undefined
        if (error === undefined) this.committed(commit)
        else this.onError(error, caller.generation)
      },
    )
    this.later(retryMs, () => {
      if (this.openCommit === commit) this.sendCommit(commit)
    })
  }

  private committed({ entries }: Commit): void {
    for (const { partition, to, mark } of entries) {
      const task = this.tasks.get(partition)
      if (task === undefined) continue
      task.base = to
      task.hasCommitted = true
      if (mark.wasReleased) this.releaseDone(partition)
    }
  }

  private beat(): void {
    this.later(this.world.heartbeatMs, () => {
      this.beat()
      this.look()
      if (this.memberId === '' || this.generation < 0) return
      const { coordinator } = this.world
      const caller = this.caller()
      const sentAtMs = this.nowMs()
      this.ask<GroupError | undefined>(
        (answer) => answer(coordinator.heartbeat(caller)),
        (error) => {
          if (caller.generation !== this.generation) return
          if (error === undefined || error === 'rebalancing') this.answered(sentAtMs)
          if (error === undefined) this.on({ kind: 'alive' })
          else this.onError(error, caller.generation)
        },
      )
    })
  }

  /** Finds silence, by its own clock. */
  private look(): void {
    const silentMs = this.nowMs() - this.answeredMs
    if (silentMs >= this.world.lease.sessionTimeoutMs) this.on({ kind: 'silence' })
  }

  private onError(error: GroupError, generation: number): void {
    if (generation !== this.generation) return
    if (error === 'illegal-generation' && this.isJoinOnItsWay) return
    if (error === 'unknown-member') {
      this.memberId = ''
      this.generation = -1
    }
    this.on({ kind: error })
  }

  private caller(): { memberId: string; instanceId: string | undefined; generation: number } {
    return { memberId: this.memberId, instanceId: this.instanceId, generation: this.generation }
  }

  private get instanceId(): string | undefined {
    return this.facts.isStatic ? this.facts.name : undefined
  }

  private join(as: 'same' | 'new'): void {
    if (as === 'new') {
      this.memberId = ''
      this.generation = -1
    }
    const attempt = ++this.joins
    this.joinId = this.world.newJoinId()
    const { coordinator, retryMs } = this.world
    const request = { memberId: this.memberId, instanceId: this.instanceId, userData: this.said() }
    const sentAtMs = this.nowMs()
    this.isJoinOnItsWay = true
    this.ask<JoinAnswer>(
      (answer) => coordinator.join(request, answer),
      (answer) => {
        if (attempt !== this.joins) return
        this.isJoinOnItsWay = false
        if (answer.error !== undefined) {
          this.onError(answer.error, this.generation)
          return
        }
        this.answered(sentAtMs)
        this.memberId = answer.memberId
        this.generation = answer.generation
        this.sync(answer, attempt)
      },
    )
    this.later(retryMs, () => {
      if (attempt === this.joins && this.isJoinOnItsWay) this.on({ kind: 'round-over' })
    })
  }

  private sync(joined: JoinAnswer & { error?: undefined }, attempt: number): void {
    const { coordinator, decisions, rules, retryMs } = this.world
    const { generation, members = [] } = joined
    const plan = decisions.plan(members, { generation, rules })
    const shares = new Map([...plan].map(([memberId, { userData }]) => [memberId, userData]))
    const sentAtMs = this.nowMs()
    let isDone = false
    const caller = this.caller()
    this.ask<SyncAnswer>(
      (answer) => coordinator.sync(caller, shares, answer),
      (answer) => {
        if (attempt !== this.joins || isDone) return
        isDone = true
        if (answer.error === 'rebalancing') this.on({ kind: 'round-over' })
        else if (answer.error !== undefined) this.onError(answer.error, generation)
        else {
          this.answered(sentAtMs)
          this.assigned(answer.userData, generation)
        }
      },
    )
    this.later(retryMs, () => {
      if (attempt === this.joins && !isDone) this.on({ kind: 'round-over' })
    })
  }

  private assigned(userData: Uint8Array, generation: number): void {
    const assignment = decodeAssignment(userData)
    const { active, release, standby, warmUp, refusal } = assignment
    const job = jobOf(this.world.partitions)
    const verdict = judgeAssignment(assignment, { joinId: this.joinId, job })
    if (verdict === 'foreign') {
      this.on({ kind: 'round-over' })
      return
    }
    this.follow([...standby, ...warmUp], active)
    const isEarlier = verdict === 'earlier'
    this.on({ kind: 'assigned', generation, active, release, warmUp, refusal, isEarlier })
    for (const partition of warmUp) {
      if (!this.saidWarm.has(partition) && this.isWarm(partition))
        this.on({ kind: 'warm', partition })
    }
  }

  /** Follows these; what becomes its own is handed to the start. */
  private follow(partitions: readonly number[], active: readonly number[]): void {
    for (const partition of this.following.keys()) {
      const isWanted = partitions.includes(partition) || active.includes(partition)
      if (!isWanted) this.following.delete(partition)
    }
    for (const partition of partitions) {
      if (this.following.has(partition)) continue
      const warmUpMs = this.world.timeOf('warm-up')
      this.following.set(partition, this.nowMs() + warmUpMs * this.facts.pace)
      this.later(warmUpMs + 1, () => {
        if (this.isWarm(partition)) this.on({ kind: 'warm', partition })
      })
    }
  }

  private isWarm(partition: number): boolean {
    const warmFromMs = this.following.get(partition)
    return warmFromMs !== undefined && warmFromMs <= this.nowMs()
  }

  private said(): Uint8Array {
    const standbys = [...this.following.keys()].map((partition) => ({
      partition,
      lag: this.isWarm(partition) ? 0 : 1_000,
    }))
    this.saidWarm = new Set(standbys.filter(({ lag }) => lag === 0).map((s) => s.partition))
    const owned = claimsOf(this.state)
    return encodeMemberData({
      understands: GROUP_FORMATS,
      joinId: this.joinId,
      processVersion: '0.1.0',
      address: `${this.facts.name}:6123`,
      job: jobOf(this.world.partitions),
      capacity: this.facts.capacity,
      isDraining: this.state.isLeaving,
      generation: owned.length === 0 ? undefined : this.state.generation,
      owned,
      standbys,
      refused: refusalsOf(this.state, this.nowMs()),
    })
  }

  private leave(): void {
    const { memberId } = this
    if (memberId !== '') {
      this.world.exchange<void>(
        this.facts.name,
        (answer) => answer(this.world.coordinator.leave(memberId)),
        () => undefined,
      )
    }
  }
}
