import { isMeanId } from '../../models/mean-id.ts'
import { AbstractOperator } from '../../operators/port/abstract-operator.ts'
import type { OperatorContext } from '../../operators/port/operator.ts'
import { DEFAULT_MAX_KEY_BYTES } from '../../state/port/key-length.ts'
import { type RefusalReason, Refusals } from '../learning/refused.ts'
import type { ModelTopicRecord } from '../model-topic/record.ts'
import { MAX_TAG_BYTES } from './tag-states.ts'

/** The tags of an item, all that it has from now on. */
export interface TaggedItem {
  readonly item: string
  readonly tags: readonly string[]
}

/** Byte between item and tags, and between tags. */
const COMMA = ','
const SEMICOLON = ';'
const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads the lines `item,tag;tag;...` of a topic. A line replaces all tags of its item, and `item,` takes them away. Other
 * records are refused.
 */
export class TagLinesOperator extends AbstractOperator {
  private readonly maxKeyBytes: number
  private refusals!: Refusals

  constructor(maxKeyBytes: number = DEFAULT_MAX_KEY_BYTES) {
    super()
    this.maxKeyBytes = maxKeyBytes
  }

  override open(context: OperatorContext): void {
    super.open(context)
    this.refusals = new Refusals(context, 'tagsRefused')
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const record = value as ModelTopicRecord
    const tagged = this.read(record)
    if (typeof tagged === 'object') this.context.output.collect(tagged, timestamp)
    else this.refusals.refuseRecord(record, tagged, timestamp)
  }

  private read({ bytes, valueStart, valueLength }: ModelTopicRecord): TaggedItem | RefusalReason {
    if (valueLength < 0) return 'unparsable'
    const tagged = taggedItem(bytes.subarray(valueStart, valueStart + valueLength))
    if (tagged === undefined) return 'unparsable'
    if (isMeanId(tagged.item)) return 'reserved-id'
    const isLong = Buffer.byteLength(tagged.item) + 2 > this.maxKeyBytes
    const hasLong = tagged.tags.some((tag) => Buffer.byteLength(tag) > MAX_TAG_BYTES)
    return isLong || hasLong ? 'key-too-long' : tagged
  }
}

/** The item and the tags of a line; undefined for what is no such line. */
export function taggedItem(line: Uint8Array): TaggedItem | undefined {
  let text: string
  try {
    text = decoder.decode(line).trim()
  } catch {
    return undefined
  }
  const comma = text.lastIndexOf(COMMA)
  const item = text.slice(0, comma).trim()
  if (comma < 0 || item === '' || /[\r\n\0]/.test(text)) return undefined
  const tags = text.slice(comma + 1).split(SEMICOLON)
  return { item, tags: [...new Set(tags.map((tag) => tag.trim()))].filter((tag) => tag !== '') }
}
