import type { Cancel, Clock } from '../../core/clock.ts'
import { aFunction, flag, listOf, name, required } from '../../core/options/kinds.ts'
import { CLOCK } from '../../core/options/ports.ts'
import { checkOptions, nested, type OptionShape } from '../../core/options/shape.ts'
import { isLearningStopped } from '../../models/registry/learning-phase.ts'
import type {
  OperatorCoordinator,
  OperatorCoordinatorContext,
  OperatorCoordinators,
} from '../../runtime/protocol/operator-coordinator.ts'
import {
  agreedConstants,
  decideHandshake,
  type HandshakeFacts,
  type HandshakeMessage,
  knownVersions,
  noFacts,
  observe,
} from './handshake.ts'
import { InFlightLimit } from './in-flight-limit.ts'
import type {
  GateOrder,
  GateReport,
  LearnableVersion,
  LearnerOrder,
  LearnerReport,
  VersionPhase,
  WorseReport,
} from './messages.ts'
import type { RefusedReport } from './refused.ts'
import { RefusedTotal } from './refused-total.ts'

/** Operators that must prepare for a version, and how their constants are agreed on. */
export interface LearnersOptions<C> {
  /** Uid of the operator. */
  readonly uid: string
  /** The constants of a version from what every slot has measured. */
  merge(parts: readonly C[]): C
}

/** Options of the coordinator of learning. */
export interface LearningCoordinatorOptions<C> {
  /** Uids of the operators that read observations and deltas (`LearningGate`). */
  readonly gates: readonly string[]
  /** Undefined where the owners of rows need no preparation. */
  readonly learners?: LearnersOptions<C> | undefined
  readonly clock: Clock
  /**
   * Every slot learns on this version, or serves it as it was published where learning is stopped; called again after every
   * restart, stop and resumption.
   */
  readonly onLearning?: ((version: number, isStopped: boolean) => void) | undefined
  /** Learning on the live version stops, because it has certainly made the predictions worse. */
  readonly onWorse?: ((report: WorseReport) => void) | undefined
  /** Learning is never stopped, and begins again where it was. @default false */
  readonly neverStop?: boolean | undefined
  /** Observations were refused; called at each doubling of their number in the attempt. */
  readonly onRefused?: ((refused: RefusedReport) => void) | undefined
  /** The job continues with another rule than that of its checkpoint (`LearnerReport`). */
  readonly onMemoryDropped?: ((rule: string) => void) | undefined
}

const COORDINATOR: OptionShape<LearningCoordinatorOptions<unknown>> = {
  gates: required(listOf(name)),
  learners: nested<LearnersOptions<unknown>>({
    uid: required(name),
    merge: required(aFunction()),
  }),
  clock: required(CLOCK),
  onLearning: aFunction(),
  onWorse: aFunction(),
  neverStop: flag,
  onRefused: aFunction(),
  onMemoryDropped: aFunction(),
}

/** A version that learning has begun on in this process. */
interface BegunVersion<M, C> {
  readonly metadata: M
  readonly constants: C
}

/** Time between two looks at whether the rows of the version can be read. */
const LOOK_EVERY_MS = 2
/** Versions before the live one whose deltas may still come: the topic holds them, a checkpoint may not. */
const EARLIER_VERSIONS = 3

/**
 * Lets observations and deltas in, in every attempt of the job, once all slots can learn on the live
 * version. `handshake.ts` decides the steps; this class observes and sends. `M` is the metadata of a
 * version, `C` its constants, the same in every slot.
 */
export class LearningCoordinator<M extends LearnableVersion, C = never> {
  /** By uid, for the options of the job. */
  readonly coordinators: OperatorCoordinators
  private readonly options: LearningCoordinatorOptions<C>
  private readonly contexts = new Map<string, OperatorCoordinatorContext>()
  private facts: HandshakeFacts<C> = noFacts()
  private metadata: M | undefined
  /** The version that went live last; its metadata may still be on the way. */
  private newest = 0
  /** By version, in the order in which they were last live. A version keeps its constants. */
  private readonly begun = new Map<number, BegunVersion<M, C>>()
  /** By version, the latest phase of learning that is known. */
  private readonly phases = new Map<number, number>()
  private inFlight = InFlightLimit.newBuffer()
  /** By partition of the model topic, how far it was applied when the version went live. */
  private complete: readonly number[] = []
  private cancelLook: Cancel | undefined
  private readonly refusedTotal = new RefusedTotal()

  constructor(options: LearningCoordinatorOptions<C>) {
    checkOptions('new LearningCoordinator', COORDINATOR, options)
    this.options = options
    const gates = options.gates.map((uid) => [uid, this.gate(uid)] as const)
    const { learners } = options
    this.coordinators = {
      ...Object.fromEntries(gates),
      ...(learners === undefined ? {} : { [learners.uid]: this.learner() }),
    }
  }

  /**
   * A version went live: every slot has applied its rows. Until its metadata is there, the version before
   * it is learned on. The caller handles metadata that fails: learning does not begin.
   */
  live(version: number, metadata: M | Promise<M>): void {
    this.newest = version
    const complete = this.appliedOffsets()
    const begin = (known: M): void => {
      // Another version may have gone live meanwhile.
      if (this.newest !== version) return
      this.metadata = known
      this.complete = complete
      this.observe({ kind: 'live', version })
    }
    if (metadata instanceof Promise) void metadata.then(begin, () => undefined)
    else begin(metadata)
  }

  /** Learning on a version is in this phase (`LearningPhase`), or in a later one. */
  setPhase(version: number, phase: number): void {
    if (phase <= (this.phases.get(version) ?? 0)) return
    this.phases.set(version, phase)
    if (version === this.facts.live) this.observe({ kind: 'live', version })
  }

  /** The phase that learning on a version is to be in. */
  phaseOf(version: number): number {
    const phase = this.phases.get(version) ?? 0
    return this.options.neverStop === true && isLearningStopped(phase) ? phase + 1 : phase
  }

  /** Ends learning; no order is sent any more. */
  close(): void {
    this.cancelLook?.()
    this.contexts.clear()
    this.facts = noFacts()
  }

  private gate(uid: string): OperatorCoordinator {
    return {
      start: (context) => this.start(context, 'gate'),
      handleEvent: (subtask, event) => {
        if (this.passesOn(uid, subtask, event)) return
        this.observe({ kind: (event as GateReport).kind, uid, subtask })
      },
    }
  }

  private learner(): OperatorCoordinator {
    return {
      start: (context) => this.start(context, 'learner'),
      handleEvent: (slot, event) => {
        if (this.passesOn(this.options.learners!.uid, slot, event)) return
        const report = event as Exclude<LearnerReport<C>, WorseReport>
        if (report.kind === 'opened') this.restorePhases(report.phases ?? [])
        if (slot === 0 && report.kind === 'opened' && report.droppedMemoryOf !== undefined) {
          this.options.onMemoryDropped?.(report.droppedMemoryOf)
        }
        this.observe({ ...report, slot })
      },
    }
  }

  /** A slot that says so late, or again, stops nothing. */
  private worse(report: WorseReport): void {
    const { version, phase } = report
    if (version !== this.facts.live || phase !== this.phaseOf(version)) return
    this.options.onWorse?.(report)
    this.setPhase(version, phase + 1)
  }

  private restorePhases(phases: readonly VersionPhase[]): void {
    for (const [version, phase] of phases) {
      this.phases.set(version, Math.max(phase, this.phases.get(version) ?? 0))
    }
  }

  /** Takes what gates and learners report alike: refusals, of all subtasks together, and predictions that are worse. */
  private passesOn(uid: string, subtask: number, event: unknown): boolean {
    const report = event as GateReport | LearnerReport<C> | RefusedReport
    if (report.kind === 'worse') {
      this.worse(report)
      return true
    }
    if (report.kind !== 'refused') return false
    this.options.onRefused?.(this.refusedTotal.with(`${uid}#${subtask}`, report))
    return true
  }

  private start(context: OperatorCoordinatorContext, operator: 'gate' | 'learner'): void {
    const { operatorUid, attempt, parallelism } = context
    if (attempt !== this.facts.attempt) {
      this.inFlight = InFlightLimit.newBuffer(this.options.clock.nowMs())
      this.refusedTotal.clear()
    }
    this.contexts.set(operatorUid, context)
    this.observe({ kind: 'started', attempt, operator, subtasks: parallelism })
  }

  private observe(message: HandshakeMessage<C>): void {
    this.facts = observe(this.facts, message)
    this.act()
  }

  private act(): void {
    this.cancelLook?.()
    this.cancelLook = undefined
    switch (decideHandshake(this.facts, this.rowsReadable())) {
      case 'wait-for-rows':
        this.cancelLook = this.options.clock.after(LOOK_EVERY_MS, () => this.act())
        return
      case 'measure':
        this.sendLearners({ kind: 'measure', metadata: this.metadata! })
        this.observe({ kind: 'sent', step: 'measure' })
        return
      case 'begin':
        this.begin()
        return
      case 'let-through':
        this.letThrough()
    }
  }

  /**
   * Whether every slot has applied all rows of the live version, and can read those of the others. After
   * a restart from a checkpoint that is older than the version, its rows come again: they would undo
   * what is learned before them.
   */
  private rowsReadable(): boolean {
    const applied = this.appliedOffsets()
    if (this.complete.some((offset, partition) => (applied[partition] ?? 0) < offset)) return false
    const [context] = this.contexts.values()
    return context?.readersAreUpToDate() === true
  }

  /** By partition of the model topic, the offset below which every slot has applied all records. */
  private appliedOffsets(): number[] {
    const [context] = this.contexts.values()
    if (context === undefined) return []
    const { board, parallelism } = context
    return Array.from({ length: board.share.partitions }, (_, partition) => {
      let offset = Number.POSITIVE_INFINITY
      for (let slot = 0; slot < parallelism; slot++) {
        offset = Math.min(offset, board.nextOffset(slot, partition))
      }
      return offset
    })
  }

  /**
   * Orders the learners to begin the live version, and those before it again: a checkpoint may be older
   * than them, while their deltas are in the topic and must be folded.
   */
  private begin(): void {
    const { learners } = this.options
    if (learners === undefined) {
      this.observe({ kind: 'sent', step: 'begin', versions: [this.facts.live] })
      return
    }
    const { live } = this.facts
    const constants =
      this.begun.get(live)?.constants ??
      agreedConstants(this.facts, (parts) => learners.merge(parts))
    this.begun.delete(live)
    this.begun.set(live, { metadata: this.metadata!, constants })
    const versions = [...this.begun].slice(-1 - EARLIER_VERSIONS)
    for (const [number, version] of versions) {
      const phase = this.phaseOf(number)
      const order = { kind: 'begin', ...version, inFlight: this.inFlight } as const
      this.sendLearners(phase === 0 ? order : { ...order, phase })
    }
    this.observe({ kind: 'sent', step: 'begin', versions: versions.map(([number]) => number) })
  }

  private letThrough(): void {
    const { facts, inFlight } = this
    const { resumeOffsets = [], folded = [], trainedWith } = this.metadata!
    const { deltaEnds, restoredNext } = this.metadata!
    const known = knownVersions(facts)
    const phases = known.map((version) => [version, this.phaseOf(version)] as const)
    const later = phases.filter(([, phase]) => phase > 0)
    const order: GateOrder = {
      kind: 'let-through',
      version: facts.live,
      resumeOffsets,
      ...(folded.length === 0 ? {} : { folded }),
      ...(deltaEnds === undefined ? {} : { deltaEnds }),
      ...(restoredNext === undefined ? {} : { restoredNext }),
      ...(trainedWith === undefined ? {} : { trainedWith }),
      known,
      ...(later.length === 0 ? {} : { phases: later }),
      inFlight,
    }
    for (const uid of this.options.gates) this.contexts.get(uid)?.sendEvent(undefined, order)
    this.observe({ kind: 'sent', step: 'let-through' })
    this.options.onLearning?.(facts.live, isLearningStopped(this.phaseOf(facts.live)))
  }

  private sendLearners(order: LearnerOrder<M, C>): void {
    const { learners } = this.options
    if (learners !== undefined) this.contexts.get(learners.uid)?.sendEvent(undefined, order)
  }
}
