import type { Cancel, Clock } from '../core/clock.ts'
import { RowMoments } from '../models/row-moments.ts'
import type {
  OperatorCoordinator,
  OperatorCoordinatorContext,
} from '../runtime/operator-coordinator.ts'
import { LearningFlow } from './online-flow.ts'
import type { LearningPlace } from './online-places.ts'
import type { EncodedMoments, VersionFacts } from './online-version.ts'

/** Learner to coordinator. */
export type LearnerReport =
  /** `known`: versions of its checkpoint, whose deltas it can fold. */
  | { readonly kind: 'opened'; readonly known: readonly number[] }
  /** What this slot's rows of a version are like; `kept`: as it was when learning began. */
  | {
      readonly kind: 'moments'
      readonly version: number
      readonly kept: boolean
      readonly moments: EncodedMoments
    }
  | { readonly kind: 'begun'; readonly version: number }

/** Coordinator to learner. */
export type LearnerOrder =
  | { readonly kind: 'prepare'; readonly facts: VersionFacts }
  /** Deltas of the version may come. */
  | {
      readonly kind: 'begin'
      readonly facts: VersionFacts
      readonly moments: EncodedMoments
      readonly flow: SharedArrayBuffer
    }

/** Gate to coordinator, and the answer. */
export interface GateReport {
  readonly kind: 'gate-opened'
}
export interface GateOrder {
  readonly kind: 'let-through'
  /** The version that ratings are learned on from here on. */
  readonly version: number
  /** How far it has learned; none where that is not known. */
  readonly places: readonly LearningPlace[]
  /** Versions whose deltas every learner can fold. */
  readonly known: readonly number[]
  readonly flow: SharedArrayBuffer
}

/** Time between two looks at whether the rows of the version are there again. */
const LOOK_EVERY_MS = 5

/** What a `LearningCoordinator` needs to know. */
export interface LearningCoordinatorOptions {
  readonly learnerUid: string
  readonly clock: Clock
  /** Every slot learns on this version now; again after every restart. */
  readonly onLearning?: (version: number) => void
}

/**
 * Brings every learner to the live version in three steps, each after all slots have answered the one
 * before: the slots tell what their rows are like; they begin with the same constants and can fold
 * deltas; ratings and deltas are let in, and what reads the ratings tells the slots on which version
 * each is learned. So no slot gets a delta of a version that it does not know.
 */
export class LearningCoordinator implements OperatorCoordinator {
  private readonly learnerUid: string
  private readonly clock: Clock
  private readonly onLearning: (version: number) => void
  private readonly contexts = new Map<string, OperatorCoordinatorContext>()
  private facts: VersionFacts | undefined
  /** By slot, the versions that it knows. */
  private readonly opened = new Map<number, Set<number>>()
  private moments = new Map<number, Extract<LearnerReport, { kind: 'moments' }>>()
  private begun = new Set<number>()
  /** By version, what its rows were like when learning on it began in this process. */
  private readonly measured = new Map<number, EncodedMoments>()
  /** Versions that were begun in this process, with what each began with. */
  private readonly begunBefore = new Map<number, VersionFacts>()
  private learning = 0
  private places: readonly LearningPlace[] = []
  private flow = LearningFlow.newBuffer()
  /** How far the model topic was applied, by partition, when the version went live. */
  private complete: readonly number[] = []
  private cancelLook: Cancel | undefined

  constructor(options: LearningCoordinatorOptions) {
    this.learnerUid = options.learnerUid
    this.clock = options.clock
    this.onLearning = options.onLearning ?? (() => {})
  }

  /** The version that ratings are learned on in this attempt; 0 before. */
  get learningOn(): number {
    return this.learning
  }

  /** A version is live. */
  live(facts: VersionFacts): void {
    this.facts = facts
    this.complete = this.appliedOffsets()
    this.prepare()
  }

  start(context: OperatorCoordinatorContext): void {
    this.cancelLook?.()
    this.contexts.set(context.operatorUid, context)
    this.opened.clear()
    this.learning = 0
    this.flow = LearningFlow.newBuffer()
  }

  handleEvent(subtask: number, event: unknown): void {
    const report = event as LearnerReport | GateReport
    switch (report.kind) {
      case 'opened':
        this.opened.set(subtask, new Set(report.known))
        this.prepare()
        return
      case 'moments':
        if (report.version !== this.facts?.version) return
        this.moments.set(subtask, report)
        if (this.moments.size === this.slots) this.begin()
        return
      case 'begun':
        if (report.version !== this.facts?.version) return
        this.begun.add(subtask)
        if (this.begun.size === this.slots) this.learn()
        return
      default:
        this.letThrough()
    }
  }

  private get slots(): number {
    return this.contexts.get(this.learnerUid)?.parallelism ?? Number.POSITIVE_INFINITY
  }

  private tell(order: LearnerOrder): void {
    this.contexts.get(this.learnerUid)?.sendEvent(undefined, order)
  }

  /** By partition of the model topic, what every slot has applied. */
  private appliedOffsets(): number[] {
    const board = this.contexts.get(this.learnerUid)?.board
    if (board === undefined) return []
    return Array.from({ length: board.share.partitions }, (_, partition) => {
      const slots = Array.from({ length: this.slots }, (_slot, slot) => slot)
      return Math.min(...slots.map((slot) => board.nextOffset(slot, partition)))
    })
  }

  /**
   * Begins once all slots are there. After a restart from a checkpoint that is older than the version,
   * its rows come again first: what was learned before them would be lost.
   */
  private prepare(): void {
    this.cancelLook?.()
    if (this.facts === undefined || this.opened.size < this.slots) return
    const applied = this.appliedOffsets()
    if (this.complete.some((offset, partition) => applied[partition]! < offset)) {
      this.cancelLook = this.clock.after(LOOK_EVERY_MS, () => this.prepare())
      return
    }
    this.moments.clear()
    this.begun.clear()
    this.tell({ kind: 'prepare', facts: this.facts })
  }

  private begin(): void {
    const reports = [...this.moments.values()]
    const { version } = this.facts!
    // What a version began with it keeps: its rows have been learned since.
    const moments = this.measured.get(version) ??
      reports.find((report) => report.kept)?.moments ?? {
        user: merged(reports.map((report) => report.moments.user)),
        item: merged(reports.map((report) => report.moments.item)),
      }
    this.measured.set(version, moments)
    this.beginOthers(version)
    this.begunBefore.set(version, this.facts!)
    this.tell({ kind: 'begin', facts: this.facts!, moments, flow: this.flow })
  }

  /**
   * A checkpoint may be older than a version that was learned on since: its deltas are in the topic and
   * must be folded, whichever version is live by now.
   */
  private beginOthers(version: number): void {
    for (const [other, facts] of this.begunBefore) {
      const moments = this.measured.get(other)
      if (other === version || moments === undefined) continue
      this.tell({ kind: 'begin', facts, moments, flow: this.flow })
      for (const known of this.opened.values()) known.add(other)
    }
  }

  private learn(): void {
    const { version, places = [] } = this.facts!
    this.learning = version
    for (const known of this.opened.values()) known.add(version)
    this.places = places
    this.letThrough()
    this.onLearning(this.learning)
  }

  /** Versions that every slot knows. */
  private known(): number[] {
    const [first, ...others] = [...this.opened.values()]
    return [...(first ?? [])].filter((version) => others.every((known) => known.has(version)))
  }

  /** Learners on every slot know the version by then. */
  private letThrough(): void {
    if (this.learning === 0) return
    const { learning: version, places, flow } = this
    const known = this.known()
    const order: GateOrder = { kind: 'let-through', version, places, known, flow }
    for (const [uid, context] of this.contexts) {
      if (uid !== this.learnerUid) context.sendEvent(undefined, order)
    }
  }
}

function merged(parts: readonly Float64Array[]): Float64Array {
  const [first, ...others] = parts.map((part) => RowMoments.decode(part))
  for (const other of others) first!.merge(other)
  return first!.encode()
}
