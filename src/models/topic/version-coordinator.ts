import { type Cancel, type Clock, sleep } from '../../core/clock.ts'
import { aFunction, count, required, wholeNumber } from '../../core/options/kinds.ts'
import { CLOCK } from '../../core/options/ports.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import type {
  OperatorCoordinator,
  OperatorCoordinatorContext,
} from '../../runtime/protocol/operator-coordinator.ts'
import { isRegistryLost, needsRegistry } from '../registry/adopt.ts'
import type { LearnedPart } from '../registry/learned-part.ts'
import { type DesiredVersion, decideLive } from '../registry/live.ts'
import type { ModelVersionMarker } from '../registry/version-marker.ts'
import { type PlacedMarker, versionReadiness } from '../registry/version-readiness.ts'
import type {
  LearningBegan,
  LiveByRegistry,
  MarkersAsked,
  MarkersSent,
  TextTaken,
} from './operator.ts'

/** Time between two checks whether a version is complete. */
const CHECK_EVERY_MS = 2
/** A publisher writes the registry after the topic: a registry without the model is missing if it stays so, ms. */
const MISSING_AFTER_MS = 5_000

/** Options of a version coordinator. */
export interface VersionCoordinatorOptions {
  /** Model number on the progress board. */
  readonly model: number
  /** Partitions of the model topic. */
  readonly partitions: number
  readonly clock: Clock
  /** Called when a version went live. */
  readonly onLive?: (version: number, marker: ModelVersionMarker) => void
  /** Called for each `ready` marker that is read, also again after a restart. */
  readonly onReady?: (marker: ModelVersionMarker) => void
  /** Called when a version was retired. */
  readonly onRetired?: (version: number) => void
  /** Called when a record of the model topic was dropped. */
  readonly onDropped?: (partition: number, offset: number, reason: string) => void
  /** Called when a record of the length of a row of floats was read as text. */
  readonly onTextTaken?: (partition: number, offset: number) => void
  /**
   * The registry does not have the model, though versions of it were registered. `live`: the version that stays live, as in
   * the checkpoint; 0 if that is not known, and nothing is served.
   */
  readonly onRegistryMissing?: (live: number) => void
  /** The version is loaded, and no version is live: it waits for its promotion. */
  readonly onWaiting?: (version: number) => void
}

const VERSION_COORDINATOR: OptionShape<VersionCoordinatorOptions> = {
  model: required(wholeNumber({ min: 0 })),
  partitions: required(count),
  clock: required(CLOCK),
  onLive: aFunction(),
  onReady: aFunction(),
  onRetired: aFunction(),
  onDropped: aFunction(),
  onTextTaken: aFunction(),
  onRegistryMissing: aFunction(),
  onWaiting: aFunction(),
}

/** Events of the operator that reads the model topic (`ModelTopicOperator`). */
type ModelTopicEvent =
  | (PlacedMarker & { readonly kind: 'marker-seen' })
  | MarkersSent
  | LiveByRegistry
  | TextTaken
  | {
      readonly kind: 'row-dropped'
      readonly partition: number
      readonly offset: number
      readonly reason: string
    }

/** Subtasks that have answered whether all their markers are here. */
interface Question {
  readonly answered: Set<number>
  /** Called with false when the job restarts before all have answered. */
  readonly settle: (areHere: boolean) => void
}

/**
 * Switches a model's live version for all readers at once: to the version that the registry wants or,
 * where no registry has the model, to the highest one. A version can go live when every slot has applied
 * all rows before its `ready` markers, and every reader can read the tables of these rows. After a
 * restart the operators report the markers again.
 */
export class VersionCoordinator implements OperatorCoordinator {
  private readonly options: VersionCoordinatorOptions
  private readonly markers = new Map<number, PlacedMarker[]>()
  /** Last `announce` marker of each version that is not retired. */
  private readonly open = new Map<number, ModelVersionMarker>()
  private context: OperatorCoordinatorContext | undefined
  private cancelCheck: Cancel | undefined
  private desired: DesiredVersion | undefined
  /** The version that a registry made live when the checkpoint was taken. */
  private restoredLive = 0
  /** Ends the wait for a registry that does not have the model. */
  private cancelMissing: Cancel | undefined
  /** The version that the operators keep in checkpoints as the one of the registry, in this attempt. */
  private keptLive = 0
  /** The version that was last said to wait for its promotion. */
  private waiting = 0
  private isClosed = false
  /** Oldest first: subtasks answer in this order. */
  private questions: readonly Question[] = []

  constructor(options: VersionCoordinatorOptions) {
    checkOptions('new VersionCoordinator', VERSION_COORDINATOR, options)
    this.options = options
  }

  start(context: OperatorCoordinatorContext): void {
    this.markers.clear()
    this.open.clear()
    this.settleQuestions()
    this.cancelCheck?.()
    this.cancelCheck = undefined
    this.context = context
    this.keptLive = 0
    const { model } = this.options
    // Until its markers are read again, its rows may be missing: the checkpoint may be older than the version.
    if (context.board.liveVersion(model) > 0) context.board.setLiveIncomplete(model, true)
  }

  handleEvent(subtask: number, event: unknown): void {
    const report = event as ModelTopicEvent
    if (report.kind === 'markers-sent') {
      this.markersSent(subtask)
      return
    }
    if (report.kind === 'live-by-registry') {
      this.restoredLive = report.version
      return
    }
    if (report.kind === 'row-dropped') {
      this.options.onDropped?.(report.partition, report.offset, report.reason)
      return
    }
    if (report.kind === 'text-taken') {
      this.options.onTextTaken?.(report.partition, report.offset)
      return
    }
    const { event: kind, version } = report.marker
    if (kind === 'retire') {
      this.markers.delete(version)
      this.options.onRetired?.(version)
    }
    this.announced(report)
    if (kind !== 'ready') return
    this.options.onReady?.(report.marker)
    // A write-back puts the marker into each partition again.
    const others = (this.markers.get(version) ?? []).filter(
      ({ partition }) => partition !== report.partition,
    )
    this.markers.set(version, [report, ...others])
    this.check()
  }

  /**
   * The marker of a version; undefined for one that was retired. Where a write-back was read in some
   * partitions only, it is the one before, whose rows every partition has.
   */
  markerOf(version: number): ModelVersionMarker | undefined {
    const markers = (this.markers.get(version) ?? []).map(({ marker }) => marker)
    return markers.sort((a, b) => (a.learned?.atMs ?? 0) - (b.learned?.atMs ?? 0))[0]
  }

  /** The last `announce` markers of the versions that are not complete, as far as the topic is read. */
  get unfinished(): readonly ModelVersionMarker[] {
    return [...this.open.values()].filter(({ version, partitions = this.options.partitions }) => {
      const ready = this.markers.get(version) ?? []
      return ready.length < partitions
    })
  }

  private announced({ marker }: PlacedMarker): void {
    const { event, version, publisher } = marker
    if (event === 'retire') this.open.delete(version)
    if (event !== 'announce') return
    const before = this.open.get(version)?.publisher?.atMs ?? 0
    if ((publisher?.atMs ?? 0) >= before) this.open.set(version, marker)
  }

  /** What the rows of the other versions include of what was learned. */
  learnedBesides(version: number): readonly LearnedPart[] {
    return [...this.markers.keys()]
      .filter((other) => other !== version)
      .map((other) => this.markerOf(other)?.learned)
      .filter((learned) => learned !== undefined)
  }

  /** Every slot learns on the version: from here on, the job does not read what it writes back of it. */
  learningBegan(version: number): void {
    this.context?.sendEvent(undefined, { kind: 'learning-began', version } satisfies LearningBegan)
  }

  /**
   * Resolves when every slot has applied the model topic up to these offsets, by partition, and `markerOf` knows the markers
   * below them; never for a job that ends before.
   */
  async whenApplied(ends: readonly number[]): Promise<void> {
    while (!(this.isApplied(ends) && (await this.markersAreHere()))) {
      if (this.isClosed) await new Promise(() => {})
      await sleep(this.options.clock, CHECK_EVERY_MS)
    }
  }

  /**
   * Asks every subtask of the operator to answer behind the markers that it has sent: the board, which is shared memory, may
   * be ahead of them. False when the job restarts meanwhile.
   */
  private markersAreHere(): Promise<boolean> {
    return new Promise((settle) => {
      this.questions = [...this.questions, { answered: new Set(), settle }]
      this.context!.sendEvent(undefined, { kind: 'markers-asked' } satisfies MarkersAsked)
    })
  }

  private markersSent(subtask: number): void {
    const { questions, context } = this
    const question = questions.find(({ answered }) => !answered.has(subtask))
    if (question === undefined || context === undefined) return
    question.answered.add(subtask)
    if (question.answered.size < context.parallelism) return
    this.questions = questions.filter((each) => each !== question)
    question.settle(true)
  }

  private settleQuestions(): void {
    const { questions } = this
    this.questions = []
    for (const { settle } of questions) settle(false)
  }

  private isApplied(ends: readonly number[]): boolean {
    const { context } = this
    if (context === undefined) return false
    const { board, parallelism } = context
    for (let slot = 0; slot < parallelism; slot++) {
      if (ends.some((end, partition) => board.nextOffset(slot, partition) < end)) return false
    }
    return true
  }

  /** Sets the version that the registry wants to be live; undefined: the highest one. */
  setDesired(desired: DesiredVersion | undefined): void {
    this.desired = desired
    this.check()
  }

  /** Ends the checks; the live version stays. */
  close(): void {
    this.isClosed = true
    this.settleQuestions()
    this.cancelCheck?.()
    this.cancelMissing?.()
    this.context = undefined
  }

  private check(): void {
    this.cancelCheck?.()
    this.cancelCheck = undefined
    const context = this.context
    if (context === undefined) return
    const { model } = this.options
    const ready: number[] = []
    let isLoading = false
    for (const [version, markers] of this.markers) {
      const readiness = this.readinessOf(markers, context)
      if (readiness === 'ready') ready.push(version)
      isLoading ||= readiness === 'loading'
    }
    // Asked after the offsets were read: it then covers every table with rows below them.
    const areReadable = ready.length === 0 || context.readersAreUpToDate()
    if (!areReadable) ready.length = 0
    isLoading ||= !areReadable
    const decision = decideLive({
      live: context.board.liveVersion(model),
      ready,
      published: ready.filter((version) => !needsRegistry(this.markers.get(version)![0]!.marker)),
      desired: this.wanted(ready),
    })
    if (decision.kind === 'switch') {
      context.board.setLiveVersion(model, decision.version)
      this.options.onLive?.(decision.version, this.markers.get(decision.version)![0]!.marker)
    }
    this.sayWaiting(context.board.liveVersion(model), ready)
    this.keepLive(context)
    if (ready.includes(context.board.liveVersion(model))) {
      context.board.setLiveIncomplete(model, false)
    }
    if (isLoading) this.cancelCheck = this.options.clock.after(CHECK_EVERY_MS, () => this.check())
  }

  /**
   * The version of the registry. Where it lost what was live, that of the checkpoint stays live: what was rejected must not
   * go live because a folder is missing.
   */
  private wanted(ready: readonly number[]): DesiredVersion | undefined {
    const { desired, restoredLive } = this
    if (desired !== undefined && (desired.live > 0 || restoredLive === 0)) return desired
    const markers = ready.map((version) => this.markers.get(version)![0]!.marker)
    if (restoredLive === 0 && !isRegistryLost(markers)) return undefined
    this.cancelMissing ??= this.options.clock.after(MISSING_AFTER_MS, () => {
      if ((this.desired?.live ?? 0) === 0) this.options.onRegistryMissing?.(this.restoredLive)
    })
    return { live: restoredLive, rollback: 0 }
  }

  /** Says once of each version that it waits, if the registry has the model and none of its versions is live. */
  private sayWaiting(live: number, ready: readonly number[]): void {
    const newest = Math.max(0, ...ready)
    if (live > 0 || this.desired?.live !== 0 || newest === 0 || newest === this.waiting) return
    this.waiting = newest
    this.options.onWaiting?.(newest)
  }

  private keepLive({ board, sendEvent }: OperatorCoordinatorContext): void {
    const version = board.liveVersion(this.options.model)
    if (this.desired === undefined || version === 0 || version === this.keptLive) return
    this.keptLive = version
    sendEvent(undefined, { kind: 'live-by-registry', version } satisfies LiveByRegistry)
  }

  private readinessOf(
    markers: readonly PlacedMarker[],
    context: OperatorCoordinatorContext,
  ): 'incomplete' | 'loading' | 'ready' {
    return versionReadiness(markers, {
      partitions: this.options.partitions,
      slots: context.parallelism,
      applied: (slot, partition) => context.board.nextOffset(slot, partition),
    }).kind
  }
}
