import type { Cancel, Clock } from '../core/clock.ts'
import type { ModelVersionMarker } from '../models/model-version-marker.ts'
import { type PlacedMarker, versionReadiness } from '../models/version-readiness.ts'
import type {
  OperatorCoordinator,
  OperatorCoordinatorContext,
} from '../runtime/operator-coordinator.ts'

/** Time between two looks at whether the slots have applied a version. */
const LOOK_EVERY_MS = 2

/** What a version coordinator needs to know. */
export interface VersionCoordinatorOptions {
  /** Model number on the progress board. */
  readonly model: number
  /** Partitions of the model topic. */
  readonly partitions: number
  readonly clock: Clock
  /** A version went live. */
  readonly onLive?: (version: number, marker: ModelVersionMarker) => void
  /** A record of the model topic was dropped. */
  readonly onDropped?: (partition: number, offset: number, reason: string) => void
}

/** Events of the operator that reads the model topic (`jobs/model-rows-operator.ts`). */
type ModelTopicEvent =
  | (PlacedMarker & { readonly kind: 'marker-seen' })
  | {
      readonly kind: 'row-dropped'
      readonly partition: number
      readonly offset: number
      readonly reason: string
    }

/**
 * Switches a model's live version: once every slot has applied all rows before the `ready` markers
 * of a version higher than the live one, that version is live for every reader at once. What it
 * knows comes again from the operators after a restart.
 */
export class VersionCoordinator implements OperatorCoordinator {
  private readonly options: VersionCoordinatorOptions
  private readonly markers = new Map<number, PlacedMarker[]>()
  private context: OperatorCoordinatorContext | undefined
  private cancelLook: Cancel | undefined

  constructor(options: VersionCoordinatorOptions) {
    this.options = options
  }

  start(context: OperatorCoordinatorContext): void {
    this.markers.clear()
    this.cancelLook?.()
    this.cancelLook = undefined
    this.context = context
  }

  handleEvent(_subtask: number, event: unknown): void {
    const told = event as ModelTopicEvent
    if (told.kind === 'row-dropped') {
      this.options.onDropped?.(told.partition, told.offset, told.reason)
      return
    }
    if (told.marker.event !== 'ready') return
    const known = this.markers.get(told.marker.version) ?? []
    this.markers.set(told.marker.version, [...known, told])
    this.look()
  }

  /** Stops looking; the live version stays. */
  close(): void {
    this.cancelLook?.()
    this.context = undefined
  }

  private look(): void {
    this.cancelLook?.()
    this.cancelLook = undefined
    const context = this.context
    if (context === undefined) return
    const live = context.board.liveVersion(this.options.model)
    const candidates = [...this.markers.keys()].filter((version) => version > live)
    let waiting = false
    for (const version of candidates.sort((a, b) => b - a)) {
      const markers = this.markers.get(version)!
      const readiness = versionReadiness(markers, {
        partitions: this.options.partitions,
        slots: context.parallelism,
        applied: (slot, partition) => context.board.nextOffset(slot, partition),
      })
      if (readiness.kind === 'ready') {
        context.board.setLiveVersion(this.options.model, version)
        this.options.onLive?.(version, markers[0]!.marker)
        break
      }
      waiting ||= readiness.kind === 'loading'
    }
    if (waiting) this.cancelLook = this.options.clock.after(LOOK_EVERY_MS, () => this.look())
  }
}
