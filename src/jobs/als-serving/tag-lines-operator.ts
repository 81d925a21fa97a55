import { isMeanId } from '../../models/mean-id.ts'
import type { ModelTopicRecord } from '../../models/topic/record.ts'
import { RecordReader } from '../learning/record-reader.ts'
import type { RefusalReason } from '../learning/refused.ts'
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
export class TagLinesOperator extends RecordReader<TaggedItem> {
  constructor(maxKeyBytes?: number) {
    super('tagsRefused', maxKeyBytes)
  }

  protected override read({
    bytes,
    valueStart,
    valueLength,
  }: ModelTopicRecord): TaggedItem | RefusalReason {
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
