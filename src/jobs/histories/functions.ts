import { modelVersion } from '../../core/model-version.ts'
import type { Rating } from '../../models/ratings/rating.ts'
import type {
  Collector,
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
} from '../../operators/process/function.ts'
import type { MapState, VectorState } from '../../state/port/handles.ts'
import { DEFAULT_MAX_KEY_BYTES } from '../../state/port/key-length.ts'
import {
  COUNTS_VERSION,
  countsState,
  ITEM_COUNTS,
  KNOWN_ITEMS_STATE,
  USER_COUNTS,
} from './states.ts'

const VERSION = modelVersion(COUNTS_VERSION)
const ONE = Float32Array.of(1)

/** Keeps the items of each user, and emits an item when a user rates it for the first time. */
export class KnownItemsFunction implements KeyedProcessFunction<string, Rating, string> {
  private readonly maxKeyBytes: number
  private items!: MapState<string, number>
  private counts!: VectorState

  constructor(maxKeyBytes: number = DEFAULT_MAX_KEY_BYTES) {
    this.maxKeyBytes = maxKeyBytes
  }

  open(context: KeyedFunctionContext): void {
    this.items = context.getMapState(KNOWN_ITEMS_STATE)
    this.counts = context.getVectorState(countsState(USER_COUNTS, this.maxKeyBytes))
    this.counts.openVersion(VERSION)
  }

  processElement(
    { item, rating }: Rating,
    context: KeyedProcessContext<string>,
    output: Collector<string>,
  ): void {
    const { currentKeyBytes: user } = context
    const isNew = !this.items.has(item)
    this.items.put(item, rating)
    if (!isNew) return
    const { source = 0, partition, offset } = context.position
    const origin = { source, partition, offset, eventTime: context.timestamp }
    this.counts.add(VERSION, user, ONE, origin)
    output.collect(item)
  }
}

/** Counts the users of each item. */
export class ItemCountsFunction implements KeyedProcessFunction<string, string, never> {
  private readonly maxKeyBytes: number
  private counts!: VectorState

  constructor(maxKeyBytes: number = DEFAULT_MAX_KEY_BYTES) {
    this.maxKeyBytes = maxKeyBytes
  }

  open(context: KeyedFunctionContext): void {
    this.counts = context.getVectorState(countsState(ITEM_COUNTS, this.maxKeyBytes))
    this.counts.openVersion(VERSION)
  }

  processElement(_item: string, context: KeyedProcessContext<string>): void {
    const { source = 0, partition, offset } = context.position
    const origin = { source, partition, offset, eventTime: context.timestamp }
    this.counts.add(VERSION, context.currentKeyBytes, ONE, origin)
  }
}
