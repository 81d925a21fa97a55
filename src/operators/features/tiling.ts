import { WeirError } from '../../core/errors.ts'
import { describeValue } from '../../core/text/describe-value.ts'

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}
/** Shortest tile: so the numbers of tiles up to the year 2106 have 32 bits. */
export const LEAST_TILE_MS = 1_000
/** Event time behind the last one that a tile has, ms. */
export const END_OF_TILES = 2 ** 32 * LEAST_TILE_MS

/**
 * Milliseconds of a length of time: a number is ms, a text a whole number and a unit: `30s`, `15m` (or `15min`), `1h`,
 * `7d`, `2w`. Throws INVALID_ARGUMENT, also below one second.
 */
export function lengthMs(given: string | number, what: string): number {
  const match = typeof given === 'string' ? /^\s*(\d+)\s*([a-z]+)\s*$/.exec(given) : null
  const unit = match === null ? undefined : UNITS[match[2]!]
  const ms =
    typeof given === 'number' ? given : unit === undefined ? Number.NaN : Number(match![1]) * unit
  if (Number.isSafeInteger(ms) && ms >= LEAST_TILE_MS) return ms
  throw new WeirError(
    'INVALID_ARGUMENT',
    `${what} is ${describeValue(given)}, which is no length of time of at least one second: write '30s', '15m', '1h', '7d' or '2w', or a whole number of ms`,
  )
}

/**
 * A window in tiles: events of one tile are counted together. A window that is read at a time begins with the tile of
 * that time less the length of the window, so that it is up to one tile longer than it says.
 */
export class Tiling {
  readonly windowMs: number
  readonly tileMs: number

  /** The window in so many tiles; in fewer where they would be shorter than a second. */
  constructor(windowMs: number, tiles: number) {
    this.windowMs = windowMs
    this.tileMs = Math.max(LEAST_TILE_MS, Math.ceil(windowMs / tiles))
  }

  /** Most tiles that a window touches. */
  get most(): number {
    return Math.ceil(this.windowMs / this.tileMs) + 1
  }

  /** The tile of an event time. */
  tileOf(time: number): number {
    return Math.floor(time / this.tileMs)
  }

  /** The first tile of the window that is read at a time. */
  firstOf(time: number): number {
    return Math.floor((time - this.windowMs) / this.tileMs)
  }
}
