import { requireArgument } from '../../core/errors.ts'
import { ID_SCHEMA, MAX_ID_LENGTH } from '../http/schemas.ts'

/** A strength: a decimal number. */
export const STRENGTH = /^-?[0-9]{1,15}(\.[0-9]{1,15})?$/

/** Schema of an item that a strength may follow. */
export const ITEM_STRENGTH_SCHEMA = {
  ...ID_SCHEMA,
  pattern: '^([^=]+|[\\s\\S]+=-?[0-9]{1,15}(\\.[0-9]{1,15})?)$',
  description: 'ITEM or ITEM=STRENGTH.',
} as const

/** Most ids of one path. */
const MAX_IDS = 1000

/** An item in a path with the strength that may follow it: `50` or `50=4.5`. */
export interface ItemStrength {
  readonly item: string
  readonly strength: number | undefined
}

/** The decoded segments of a request's path after the first `skipped`. Throws INVALID_ARGUMENT. */
export function idsOfPath(url: string, skipped: number): readonly string[] {
  const end = url.indexOf('?')
  const path = end < 0 ? url : url.slice(0, end)
  const ids = path
    .split('/')
    .slice(skipped + 1)
    .filter((segment) => segment !== '')
    .map((segment) => idOf(segment))
  requireArgument(ids.length > 0, `the path ${path.slice(0, 100)} names no id`)
  requireArgument(ids.length <= MAX_IDS, `a path names at most ${MAX_IDS} ids, not ${ids.length}`)
  return ids
}

/** Items of a path, each with its strength. Throws INVALID_ARGUMENT. */
export function itemStrengths(segments: readonly string[]): readonly ItemStrength[] {
  return segments.map((segment) => {
    const at = segment.lastIndexOf('=')
    if (at < 0) return { item: segment, strength: undefined }
    const text = segment.slice(at + 1)
    requireArgument(
      at > 0 && STRENGTH.test(text),
      `"${segment.slice(0, 100)}" is no item and no ITEM=STRENGTH`,
    )
    return { item: segment.slice(0, at), strength: Number(text) }
  })
}

function idOf(segment: string): string {
  const id = decoded(segment)
  requireArgument(
    id.length <= MAX_ID_LENGTH || [...id].length <= MAX_ID_LENGTH,
    `an id has at most ${MAX_ID_LENGTH} characters, not "${id.slice(0, 40)}..."`,
  )
  return id
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    requireArgument(false, `the path segment "${segment.slice(0, 100)}" is not well escaped`)
    return ''
  }
}
