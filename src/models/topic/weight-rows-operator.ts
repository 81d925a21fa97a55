import { WeirError } from '../../core/errors.ts'
import { keyOfEveryGroup } from '../../core/key-group-keys.ts'
import type { RecordHeader } from '../../wire/batch/record-batch-format.ts'
import {
  blockKeyLength,
  parseTextWeights,
  versionOfTextKey,
  type WeightList,
} from '../linear/weight-row.ts'
import type { WeightUpdate } from '../linear/weight-update.ts'
import { readableVersion, versionOfKeyBytes } from '../versioned-key.ts'
import { type BadRowPolicy, ModelTopicOperator } from './operator.ts'
import { keyBytesOf, type ModelTopicRecord, valueBytesOf } from './record.ts'
import { blockWeightsIn, textIn } from './row-form.ts'
import { weightMemoryIn } from './row-memory.ts'

const encoder = new TextEncoder()

/** Splits the model topic of a linear model: sends weights to the owners of their blocks. */
export class WeightRowsOperator extends ModelTopicOperator {
  private readonly weights: Float32Array
  private readonly bytes: Uint8Array

  constructor(range: number, policy: BadRowPolicy) {
    super(range, policy)
    this.weights = new Float32Array(range)
    this.bytes = new Uint8Array(this.weights.buffer)
  }

  protected emit(record: ModelTopicRecord, timestamp: number): void {
    const key = keyBytesOf(record)
    const value = valueBytesOf(record)
    const length = key === null ? -1 : blockKeyLength(key)
    const headers = record.headers?.() ?? []
    const text = textOf(value, { isBlock: length >= 0, headers })
    if (text === undefined) {
      this.context.output.collect(this.row(key!, length, value, headers), timestamp)
      return
    }
    if (length >= 0 && value?.length === this.bytes.length) this.tookText()
    const version = readableVersion(versionOfTextKey(key))
    for (const update of this.textUpdates(text, version))
      this.context.output.collect(update, timestamp)
  }

  protected override versionSeen(kind: 'open' | 'retire', version: number): void {
    for (const key of keyOfEveryGroup(this.context.maxParallelism)) {
      this.context.output.collect({ kind, key, version } satisfies WeightUpdate, -1)
    }
  }

  /** A whole block, in one buffer that every row fills again: it is encoded within the call. */
  private row(
    key: Uint8Array,
    length: number,
    value: Uint8Array | null,
    headers: readonly RecordHeader[],
  ): WeightUpdate {
    const block = key.subarray(0, length)
    const version = readableVersion(versionOfKeyBytes(key, keyEnd(key, length)))
    if (value === null) {
      return { kind: 'remove', key: block, version }
    }
    if (value.length !== this.bytes.length) {
      throw new WeirError(
        'UNPARSABLE_RECORD',
        `a weight block has ${value.length} bytes where ${this.dimension} float32 were expected, and is no text of weights`,
      )
    }
    this.bytes.set(value)
    const memory = weightMemoryIn(headers, this.dimension)
    return { kind: 'row', key: block, version, weights: this.weights, memory }
  }

  private *textUpdates(list: WeightList, version: number): Generator<WeightUpdate> {
    for (const [block, members] of byBlock(list, this.dimension)) {
      const indices = Uint16Array.from(members, (i) => list.features[i]! - block * this.dimension)
      const weights = Float32Array.from(members, (i) => list.weights[i]!)
      yield { kind: 'some', key: encoder.encode(String(block)), version, indices, weights }
    }
  }
}

/** Length of a block's key without version: `<block>-W`. */
function keyEnd(key: Uint8Array, length: number): number {
  return Math.min(key.length, length + 2)
}

/**
 * The weights in the text of a value; undefined for a block of floats. Under the key of a block, what does not read as
 * text is floats. Throws UNPARSABLE_RECORD for any other record that is no text.
 */
function textOf(
  value: Uint8Array | null,
  { isBlock, headers }: { readonly isBlock: boolean; readonly headers: readonly RecordHeader[] },
): WeightList | undefined {
  if (isBlock) return value === null ? undefined : blockWeightsIn(value, headers)
  if (value === null) {
    throw new WeirError('UNPARSABLE_RECORD', 'a text weight is removed by writing 0 for it')
  }
  const text = textIn(value)
  if (text === undefined) throw new WeirError('UNPARSABLE_RECORD', 'a text weight is not UTF-8')
  return parseTextWeights(text)
}

/** By block, the numbers of the features in the list. */
function byBlock({ features }: WeightList, range: number): Map<number, number[]> {
  const blocks = new Map<number, number[]>()
  features.forEach((feature, i) => {
    const block = Math.floor(feature / range)
    const members = blocks.get(block)
    if (members === undefined) blocks.set(block, [i])
    else members.push(i)
  })
  return blocks
}
