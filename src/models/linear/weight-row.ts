import { WeirError } from '../../core/errors.ts'
import { BIAS_FEATURE, MAX_FEATURE } from '../../core/feature.ts'
import { keyLengthWithoutVersion, splitVersionedKey, UNVERSIONED } from '../versioned-key.ts'
import { INTERCEPT } from './weights.ts'

/**
 * Rows of a linear model in topics and in state. Weights are in blocks of `range` features: feature f is
 * element f mod range of block floor(f / range). In the topic, a block's row has the key `<block>-W`,
 * optionally followed by `@<version>`, and the value `range` float32, little-endian. In state its key is
 * `<block>`. The intercept is the weight of the constant feature (`core/feature.ts`), in a separate block.
 *
 * Text rows of the ancestor are read too, one a record, with any key; under `<block>-W` what reads as text is text
 * (`jobs/model-topic/row-form.ts`):
 *
 *   <feature>,<weight>                          one weight; the feature may be `bias`
 *   <block>,<feature>:<weight>;...              weights of a block, of any range
 *   <feature>:<weight>;...                      the same; the block is the record's key
 */

const LETTER_W = 0x57
const DASH = 0x2d
const decoder = new TextDecoder()

/** Default of `range`: features of one block. */
export const DEFAULT_RANGE = 1024

/** The key of a block's row in a model topic. */
export function weightKey(block: number, version?: number): string {
  return version === undefined ? `${block}-W` : `${block}-W@${version}`
}

/** Length of the block's number in a topic key, bytes; -1 when it is no key of a block. */
export function blockKeyLength(key: Uint8Array): number {
  const length = keyLengthWithoutVersion(key) - 2
  if (length < 1 || key[length] !== DASH || key[length + 1] !== LETTER_W) return -1
  for (let i = 0; i < length; i++) {
    const digit = (key[i] as number) - 0x30
    if (digit < 0 || digit > 9) return -1
  }
  return length
}

/** The version in the key of a text record, 1 if there is none. */
export function versionOfTextKey(key: Uint8Array | null): number {
  return key === null ? UNVERSIONED : splitVersionedKey(decoder.decode(key)).version
}

/** Weights of single features. */
export interface WeightList {
  /** Feature ids in the order of the text; the constant feature may be one. */
  readonly features: readonly number[]
  readonly weights: readonly number[]
}

/** Reads a text row. Throws UNPARSABLE_RECORD. */
export function parseTextWeights(text: string): WeightList {
  const comma = text.indexOf(',')
  const body = text.slice(comma + 1)
  if (comma >= 0 && !body.includes(':')) {
    return { features: [featureOf(text.slice(0, comma), text)], weights: [weightOf(body, text)] }
  }
  const features: number[] = []
  const weights: number[] = []
  for (const pair of body.split(';')) {
    const colon = pair.indexOf(':')
    if (pair.trim() === '') continue
    features.push(featureOf(pair.slice(0, Math.max(0, colon)), text))
    weights.push(weightOf(pair.slice(colon + 1), text))
  }
  if (features.length === 0) throw unparsable(text)
  return { features, weights }
}

function featureOf(word: string, text: string): number {
  const id = word.trim()
  if (id === INTERCEPT) return BIAS_FEATURE
  const feature = Number(id)
  if (!/^[0-9]+$/.test(id) || feature > MAX_FEATURE) throw unparsable(text)
  return feature
}

function weightOf(word: string, text: string): number {
  const weight = word.trim() === '' ? Number.NaN : Math.fround(Number(word))
  if (!Number.isFinite(weight)) throw unparsable(text)
  return weight
}

function unparsable(text: string): WeirError {
  return new WeirError(
    'UNPARSABLE_RECORD',
    `"${text.slice(0, 60)}" is not a weight; write <feature>,<weight> or <block>,<feature>:<weight>;...`,
  )
}
