import type { Cancel, Clock } from '../core/clock.ts'
import type { ModelVersionMarker } from '../models/model-version-marker.ts'
import { isCandidate } from '../models/registry-adopt.ts'
import { type DesiredVersion, decideLive } from '../models/registry-live.ts'
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
 * Switches a model's live version for every reader at once, when every slot has applied all rows
 * before the version's `ready` markers: to the version that the registry wants, or where no registry
 * knows the model to the highest one. What it knows of the topic comes again from the operators after
 * a restart.
 */
export class VersionCoordinator implements OperatorCoordinator {
  private readonly options: VersionCoordinatorOptions
  private readonly markers = new Map<number, PlacedMarker[]>()
  private context: OperatorCoordinatorContext | undefined
  private cancelLook: Cancel | undefined
  private desired: DesiredVersion | undefined

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
    if (told.marker.event === 'retire') this.markers.delete(told.marker.version)
    if (told.marker.event !== 'ready') return
    const known = this.markers.get(told.marker.version) ?? []
    this.markers.set(told.marker.version, [...known, told])
    this.look()
  }

  /** The registry wants this version to be live; without a call the highest one is. */
  setDesired(desired: DesiredVersion | undefined): void {
    this.desired = desired
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
    const { model } = this.options
    const ready: number[] = []
    let isLoading = false
    for (const [version, markers] of this.markers) {
      const readiness = this.readinessOf(markers, context)
      if (readiness === 'ready') ready.push(version)
      isLoading ||= readiness === 'loading'
    }
    const decision = decideLive({
      live: context.board.liveVersion(model),
      ready,
      published: ready.filter((version) => !isCandidate(this.markers.get(version)![0]!.marker)),
      desired: this.desired,
    })
    if (decision.kind === 'switch') {
      context.board.setLiveVersion(model, decision.version)
      this.options.onLive?.(decision.version, this.markers.get(decision.version)![0]!.marker)
    }
    if (isLoading) this.cancelLook = this.options.clock.after(LOOK_EVERY_MS, () => this.look())
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
