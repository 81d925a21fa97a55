import { asWeirError } from '../core/errors.ts'
import { keyText } from '../core/formats/key-text.ts'
import type { PlainKey } from '../core/formats/plain-key.ts'
import {
  either,
  kindOf,
  listOf,
  name,
  type OptionKind,
  objectWith,
  oneOf,
  required,
  text,
  wholeNumber,
} from '../core/options/kinds.ts'
import { checkArgument, checkOptions, nested, type OptionShape } from '../core/options/shape.ts'
import { LINEAR_PREDICT } from './linear-prediction.ts'
import { PREDICT, QUERY, type QueryOptions, type SparseVector } from './model-reader.ts'

/** The kind of keys of state. */
export const KEY = kindOf<PlainKey>(
  'a text, or a finite number, a boolean, a bigint or a tuple of these, as keyBy gave it',
  isKey,
)
const KEYS = listOf(KEY)
/** The key of a row: no text is the same key as a number. */
const ROW_KEY = kindOf<string>(
  'a text, as all keys of rows are',
  (given) => typeof given === 'string',
)
const ROW_KEYS = listOf(ROW_KEY)

function isKey(given: unknown): boolean {
  if (typeof given === 'number') return Number.isFinite(given)
  if (Array.isArray(given)) return given.every(isKey)
  return ['string', 'boolean', 'bigint'].includes(typeof given)
}

const SPARSE_VECTOR = kindOf<SparseVector>(
  'an object with ids, a Uint32Array, and values, a Float32Array',
  (given) => {
    const { ids, values } = (given ?? {}) as Partial<SparseVector>
    return ids instanceof Uint32Array && values instanceof Float32Array
  },
)

const FEATURES = either(SPARSE_VECTOR, text)

/** The keys that a scan covers. */
export interface KeyRange {
  readonly from: PlainKey
  readonly to: PlainKey
  readonly limit: number
}

/** The range with the texts of its keys. */
export function textsOf({ from, to, limit }: KeyRange): {
  readonly from: string
  readonly to: string
  readonly limit: number
} {
  return { from: keyText(from), to: keyText(to), limit }
}

/** The keys that a scan covers, checked. */
export const RANGE = nested<KeyRange>({
  from: required(KEY),
  to: required(KEY),
  limit: required(wholeNumber({ min: 0 })),
})

/** The row or the vector for which a top-k query asks. */
export const TOP_K_QUERY = either(
  text,
  kindOf<Float32Array>('a Float32Array', (given) => given instanceof Float32Array),
)

/** The tensors of a request. */
const INFER_REQUEST = nested<{
  readonly inputs: readonly object[]
  readonly outputs: readonly string[]
}>({
  inputs: required(listOf(objectWith<object>('a tensor'))),
  outputs: required(listOf(text)),
})

/** What may be done with a model of any kind. */
export const MODEL_ACTION: OptionKind<'load' | 'unload'> = oneOf('load', 'unload')

/** Options that a caller did not give: they are not checked again. */
export const NO_OPTIONS: QueryOptions = {}

/** Throws INVALID_ARGUMENT unless these are the name of a state and options of a call. */
export function checkCall<O>(
  call: string,
  state: unknown,
  shape: OptionShape<O>,
  options: unknown,
): void {
  checkArgument(call, 'state', name, state)
  if (options !== NO_OPTIONS) checkOptions(call, shape, options)
}

/** As `checkCall`, for a call with keys of rows. */
export function checkRowKeys<O>(
  call: string,
  state: unknown,
  keys: unknown,
  shape: OptionShape<O>,
  options: unknown,
): void {
  checkCall(call, state, shape, options)
  checkArgument(call, 'keys', ROW_KEYS, keys)
}

/** As `checkCall`, for a call with keys. */
export function checkKeys<O>(
  call: string,
  state: unknown,
  keys: unknown,
  shape: OptionShape<O>,
  options: unknown,
): void {
  checkCall(call, state, shape, options)
  checkArgument(call, 'keys', KEYS, keys)
}

/** As `checkCall`, for a call with one key, of a row or of another state. */
export function checkKey<O>(
  call: string,
  { state, isVector }: { readonly state: unknown; readonly isVector: boolean },
  key: unknown,
  shape: OptionShape<O>,
  options: unknown,
): void {
  checkCall(call, state, shape, options)
  if (isVector) checkArgument(call, 'key', ROW_KEY, key)
  else checkArgument(call, 'key', KEY, key)
}

/**
 * The options of the last prediction that were right. A caller in a loop gives the same object again and again, and a
 * look at it takes 0.2 us.
 */
let lastRight: unknown

/** What is wrong with the arguments of a prediction, which are looked at in the shortest time. */
export function predictionRefusal(
  call: string,
  state: unknown,
  left: unknown,
  right: unknown,
  options: unknown,
): Promise<never> | undefined {
  const areTexts =
    typeof state === 'string' && typeof left === 'string' && typeof right === 'string'
  const areRight = options === NO_OPTIONS || options === lastRight
  if (areTexts && areRight && state !== '') return undefined
  const refusal = refusalBy(() => checkRowKeys(call, state, [left, right], PREDICT, options))
  if (refusal === undefined) lastRight = options
  return refusal
}

/** As `checkCall`, for `client.inferRaw`. */
export function checkInferRaw(model: unknown, request: unknown, options: unknown): void {
  checkCall('client.inferRaw', model, QUERY, options)
  checkArgument('client.inferRaw', 'request', INFER_REQUEST, request)
}

/** As `checkCall`, for a prediction of a linear model. */
export function checkLinear(state: unknown, features: unknown, options: unknown): void {
  checkCall('client.predictLinear', state, LINEAR_PREDICT, options)
  checkArgument('client.predictLinear', 'features', FEATURES, features)
}

/** What is wrong with the arguments of a sparse product. */
export function productRefusal<O>(
  call: string,
  state: unknown,
  features: unknown,
  shape: OptionShape<O>,
  options: unknown,
): Promise<never> | undefined {
  return refusalBy(() => {
    checkCall(call, state, shape, options)
    checkArgument(call, 'features', SPARSE_VECTOR, features)
  })
}

function refusalBy(check: () => void): Promise<never> | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    return Promise.reject(asWeirError(error, 'INVALID_ARGUMENT'))
  }
}
