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
const PLUS_ONE = Float32Array.of(1)
const MINUS_ONE = Float32Array.of(-1)

/** A user whose history is to be forgotten: a record without a value under the id as key. */
export interface ForgottenUser {
  readonly user: string
}

/** What changes a history. */
export type HistoryInput = Rating | ForgottenUser

/** A change of the number of users of an item. */
export interface CountedItem {
  readonly item: string
  /** 1 for a user who rates it for the first time, -1 for one who is forgotten. */
  readonly by: 1 | -1
}

/** Keeps the items of each user, and emits an item when a user rates it for the first time, or is forgotten. */
export class KnownItemsFunction implements KeyedProcessFunction<string, HistoryInput, CountedItem> {
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
    input: HistoryInput,
    context: KeyedProcessContext<string>,
    output: Collector<CountedItem>,
  ): void {
    if (!('item' in input)) {
      this.forget(context.currentKeyBytes, output)
      return
    }
    const { item, rating } = input
    const { currentKeyBytes: user } = context
    const isNew = !this.items.has(item)
    this.items.put(item, rating)
    if (!isNew) return
    const { source = 0, partition, offset } = context.position
    const origin = { source, partition, offset, eventTime: context.timestamp }
    this.counts.add(VERSION, user, PLUS_ONE, origin)
    output.collect({ item, by: 1 })
  }

  private forget(user: Uint8Array, output: Collector<CountedItem>): void {
    for (const item of [...this.items.keys()]) output.collect({ item, by: -1 })
    this.items.clear()
    this.counts.remove(VERSION, user)
  }
}

/** Counts the users of each item. */
export class ItemCountsFunction implements KeyedProcessFunction<string, CountedItem, never> {
  private readonly maxKeyBytes: number
  private counts!: VectorState

  constructor(maxKeyBytes: number = DEFAULT_MAX_KEY_BYTES) {
    this.maxKeyBytes = maxKeyBytes
  }

  open(context: KeyedFunctionContext): void {
    this.counts = context.getVectorState(countsState(ITEM_COUNTS, this.maxKeyBytes))
    this.counts.openVersion(VERSION)
  }

  processElement({ by }: CountedItem, context: KeyedProcessContext<string>): void {
    const { currentKeyBytes: item } = context
    const { source = 0, partition, offset } = context.position
    const origin = { source, partition, offset, eventTime: context.timestamp }
    this.counts.add(VERSION, item, by === 1 ? PLUS_ONE : MINUS_ONE, origin)
    // An item without users says that a user had rated it.
    if (by === -1 && !(this.counts.get(VERSION, item)!.vector[0]! > 0)) {
      this.counts.remove(VERSION, item)
    }
  }
}
