import { requireArgument } from '../errors.ts'
import { kindOf, required, wholeNumber } from '../options/kinds.ts'
import type { OptionShape } from '../options/shape.ts'

/** Most bits of a hash of features: a model has at most `MOST_FEATURES` weights. */
export const MOST_HASH_BITS = 27

/** How the names of features become ids of weights. All versions of a model hash in one way. */
export interface FeatureHashing {
  /** The model has 2^bits weights. */
  readonly bits: number
  /** Namespaces whose features are combined, such as `user*ad,user*place`; empty for none. */
  readonly crosses: string
}

/** The options of a hash of features. */
export const FEATURE_HASHING: OptionShape<FeatureHashing> = {
  bits: required(wholeNumber({ min: 1, max: MOST_HASH_BITS })),
  crosses: required(kindOf('a text such as "user*ad,user*place"', areCrosses)),
}

/** The hyperparameters of a version, as far as they say how its features are hashed. */
type Settings = Readonly<Record<string, unknown>>

/** How a version hashes the names of its features, as its hyperparameters say it; undefined if it does not. */
export function hashingOf({ hashBits, crosses }: Settings): FeatureHashing | undefined {
  if (typeof hashBits !== 'number') return undefined
  return { bits: hashBits, crosses: typeof crosses === 'string' ? crosses : '' }
}

/** The hyperparameters from which `hashingOf` makes the same hash. */
export function hashingParameters(hashing: FeatureHashing | undefined): {
  readonly hashBits?: number
  readonly crosses?: string
} {
  if (hashing === undefined) return {}
  const { bits: hashBits, crosses } = hashing
  return { hashBits, ...(crosses === '' ? {} : { crosses }) }
}

/** Whether two models hash the names of features alike. */
export function isSameHashing(
  a: FeatureHashing | undefined,
  b: FeatureHashing | undefined,
): boolean {
  return a?.bits === b?.bits && a?.crosses === b?.crosses
}

/** A hash of features in words: as the flags that choose it. */
export function hashingText(hashing: FeatureHashing | undefined): string {
  if (hashing === undefined) return 'no --hash-bits'
  const { bits, crosses } = hashing
  return `--hash-bits ${bits}${crosses === '' ? '' : ` --crosses ${crosses}`}`
}

/** Most namespaces of a cross. */
const MOST_CROSSED = 4

/** The names of the namespaces of each cross. Throws INVALID_ARGUMENT. */
export function crossesOf(text: string): readonly (readonly string[])[] {
  if (text === '') return []
  const crosses = text.split(',').map((cross) => cross.split('*'))
  const known = new Set<string>()
  for (const names of crosses) {
    requireArgument(
      names.length >= 2 && names.length <= MOST_CROSSED && names.every(isNamespace),
      `"${names.join('*')}" is no cross: write two to ${MOST_CROSSED} names of namespaces with * between them, as user*ad`,
    )
    const sorted = [...names].sort().join('*')
    requireArgument(!known.has(sorted), `the cross ${names.join('*')} comes twice`)
    known.add(sorted)
  }
  return crosses
}

function isNamespace(name: string): boolean {
  return /^[^\s|:*,\p{Cc}]+$/u.test(name)
}

function areCrosses(given: unknown): boolean {
  if (typeof given !== 'string') return false
  try {
    return crossesOf(given).length >= 0
  } catch {
    return false
  }
}
