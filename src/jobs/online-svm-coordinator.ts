import type { Cancel, Clock } from '../core/clock.ts'
import { type PlacedMarker, versionReadiness } from '../models/version-readiness.ts'
import type {
  OperatorCoordinator,
  OperatorCoordinatorContext,
  OperatorCoordinators,
} from '../runtime/operator-coordinator.ts'
import { MODEL_ROWS_UID } from './als-serving.ts'
import { LearningFlow } from './online-flow.ts'

/** Reader of observations or deltas to coordinator: it waits for a version. */
export interface SvmLearningReport {
  readonly kind: 'opened'
}

/** The answer, and again when another version is live. */
export interface SvmLearningOrder {
  readonly kind: 'learn'
  readonly version: number
  /** Counts the observations under way in this attempt (`LearningFlow`). */
  readonly flow: SharedArrayBuffer
}

/** Uid of the operator that reads observations. */
export const SVM_OBSERVATIONS_UID = 'svm-observations'
/** Uid of the operator that reads deltas. */
export const SVM_DELTAS_UID = 'svm-deltas'

/** What the coordinator of learning needs to know. */
export interface SvmLearningOptions {
  /** Partitions of the model topic. */
  readonly partitions: number
  readonly clock: Clock
  /** Switches versions; it is told all that the model topic's reader tells. */
  readonly versions: OperatorCoordinator
  /** Every slot has the version's weights, and learning goes on. */
  readonly onLearning?: (version: number) => void
}

/** Time between two looks at whether the slots have applied a version. */
const LOOK_EVERY_MS = 2

type MarkerSeen = PlacedMarker & { readonly kind: string }

/**
 * Lets observations and deltas in, in every attempt of the job anew, once every slot has applied all
 * weights of the live version: weights that were read after a delta would undo its step.
 */
export class SvmLearningCoordinator {
  /** By operator, for the job. */
  readonly coordinators: OperatorCoordinators
  private readonly options: SvmLearningOptions
  private readonly readers = new Map<string, OperatorCoordinatorContext>()
  private readonly markers = new Map<number, PlacedMarker[]>()
  private version = 0
  /** The version that the readers were told of in this attempt; 0: none. */
  private told = 0
  private flow = LearningFlow.newBuffer()
  private cancelLook: Cancel | undefined

  constructor(options: SvmLearningOptions) {
    this.options = options
    const { versions } = options
    const reader: OperatorCoordinator = {
      start: (context) => this.start(context),
      handleEvent: () => this.tell(this.told),
    }
    this.coordinators = {
      [SVM_OBSERVATIONS_UID]: reader,
      [SVM_DELTAS_UID]: reader,
      [MODEL_ROWS_UID]: {
        start: (context) => {
          versions.start(context)
          this.markers.clear()
          this.flow = LearningFlow.newBuffer()
          this.start(context)
        },
        handleEvent: (subtask, event) => {
          this.note(event as MarkerSeen)
          versions.handleEvent(subtask, event)
          this.look()
        },
      },
    }
  }

  /** A version is live. */
  live(version: number): void {
    this.version = version
    this.look()
  }

  /** Stops looking. */
  close(): void {
    this.cancelLook?.()
    this.readers.clear()
  }

  private start(context: OperatorCoordinatorContext): void {
    this.readers.set(context.operatorUid, context)
    this.told = 0
    this.look()
  }

  private note({ kind, partition, offset, marker }: MarkerSeen): void {
    if (kind !== 'marker-seen' || marker.event !== 'ready') return
    const known = this.markers.get(marker.version) ?? []
    this.markers.set(marker.version, [...known, { partition, offset, marker }])
  }

  private look(): void {
    this.cancelLook?.()
    this.cancelLook = undefined
    const { version } = this
    const context = this.readers.get(MODEL_ROWS_UID)
    if (version === this.told || context === undefined) return
    const { kind } = versionReadiness(this.markers.get(version) ?? [], {
      partitions: this.options.partitions,
      slots: context.parallelism,
      applied: (slot, partition) => context.board.nextOffset(slot, partition),
    })
    if (kind === 'ready') {
      this.tell(version)
      this.options.onLearning?.(version)
    } else if (kind === 'loading') {
      this.cancelLook = this.options.clock.after(LOOK_EVERY_MS, () => this.look())
    }
  }

  private tell(version: number): void {
    this.told = version
    if (version === 0) return
    const order: SvmLearningOrder = { kind: 'learn', version, flow: this.flow }
    for (const [uid, context] of this.readers) {
      if (uid !== MODEL_ROWS_UID) context.sendEvent(undefined, order)
    }
  }
}
