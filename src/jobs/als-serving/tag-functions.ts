import { modelVersion } from '../../core/model-version.ts'
import { alsKey } from '../../models/als/row-key.ts'
import { MAX_TAGS, TAG_SUFFIX, TAGS_VERSION, tagRow } from '../../models/item-tags.ts'
import type {
  Collector,
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
} from '../../operators/process/function.ts'
import { type MapStateDescriptor, mapState } from '../../state/port/descriptors.ts'
import type { MapState, VectorState } from '../../state/port/handles.ts'
import { REFUSED } from '../learning/refused.ts'
import type { TaggedItem } from './tag-lines-operator.ts'
import { itemTagRows, tagNameRows } from './tag-states.ts'

const VERSION = modelVersion(TAGS_VERSION)
const encoder = new TextEncoder()

/** A row of `ITEM_TAGS`. */
export interface TagRow {
  /** `<id>-I`, or `<tag>-T`. */
  readonly key: string
  readonly floats: readonly number[]
}

/** The bits of all tags, by name. They never change, so that rows of tags stay right. */
const BITS: MapStateDescriptor<string, number> = mapState('bits')
const SIDE_OUTPUTS = [REFUSED]

/**
 * Gives each tag a bit when it first comes, for the whole job: all items have one key here. An item with a tag for which no
 * bit is left is refused as a whole, so that no list has an item whose tag it cannot see.
 */
export class TagBitsFunction implements KeyedProcessFunction<string, TaggedItem, TagRow> {
  readonly sideOutputs: readonly (typeof REFUSED)[] = SIDE_OUTPUTS
  private bits!: MapState<string, number>
  private refused!: { increment(): void }

  open(context: KeyedFunctionContext): void {
    this.bits = context.getMapState(BITS)
    this.refused = context.metrics.counter('tagsRefused')
  }

  processElement(
    { item, tags }: TaggedItem,
    context: KeyedProcessContext<string>,
    output: Collector<TagRow>,
  ): void {
    const fresh = tags.filter((tag) => !this.bits.has(tag))
    if (fresh.length > 0) {
      const used = [...this.bits.keys()].length
      if (used + fresh.length > MAX_TAGS) {
        this.refuse(item, tags, context)
        return
      }
      fresh.forEach((tag, i) => {
        this.bits.put(tag, used + i)
        output.collect({ key: `${tag}${TAG_SUFFIX}`, floats: [used + i] })
      })
    }
    const bits = tags.map((tag) => this.bits.get(tag)!)
    output.collect({ key: alsKey(item, 'I'), floats: [...tagRow(bits)] })
  }

  private refuse(
    item: string,
    tags: readonly string[],
    context: KeyedProcessContext<string>,
  ): void {
    this.refused.increment()
    const { partition, offset } = context.position
    const value = encoder.encode(`${item},${tags.join(';')}`)
    context.output(REFUSED, { value, reason: 'too-many-tags', partition, offset })
  }
}

/** Keeps the rows of tags, as the queryable state `ITEM_TAGS`. */
export class TagRowsFunction implements KeyedProcessFunction<string, TagRow, never> {
  private readonly maxKeyBytes: number | undefined
  private items!: VectorState
  private names!: VectorState

  constructor(maxKeyBytes?: number) {
    this.maxKeyBytes = maxKeyBytes
  }

  open(context: KeyedFunctionContext): void {
    this.items = context.getVectorState(itemTagRows(this.maxKeyBytes))
    this.names = context.getVectorState(tagNameRows())
    for (const rows of [this.items, this.names]) rows.openVersion(VERSION)
  }

  processElement({ key, floats }: TagRow, context: KeyedProcessContext<string>): void {
    const rows = key.endsWith(TAG_SUFFIX) ? this.names : this.items
    const { source = 0, partition, offset } = context.position
    const origin = { source, partition, offset, eventTime: context.timestamp }
    rows.put(VERSION, context.currentKeyBytes, Float32Array.from(floats), origin)
  }
}
