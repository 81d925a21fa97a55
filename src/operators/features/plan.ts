import { WeirError } from '../../core/errors.ts'
import { either, name, wholeNumber } from '../../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import { describeValue } from '../../core/text/describe-value.ts'
import { refuseArgument } from '../../core/text/refuse-argument.ts'
import { Feature, type FeatureDefinition, type FeatureValues } from './definition.ts'
import { FeatureRow, headerBytes, OpenRow } from './row.ts'
import type { Tally } from './tally.ts'
import { END_OF_TILES, lengthMs, Tiling } from './tiling.ts'

/** Options of features. */
export interface FeatureOptions {
  /**
   * Tiles of each window, 1 to 1000; a tile has at least one second. The oldest edge of a window is rounded down to a tile,
   * so that a window is up to one tile longer than it says. @default 60
   */
  readonly tiles?: number
  /**
   * How long a key without events keeps its row, such as `'7d'`, or in ms: at least the longest window.
   * @default the longest window
   */
  readonly retention?: string | number
  /**
   * Refuses an event whose time is further ahead of the wall clock, such as `'1h'`, or in ms: it would make all that its key
   * has too old for each window. @default none is refused
   */
  readonly maxAhead?: string | number
}

const FEATURES: OptionShape<FeatureOptions> = {
  tiles: wholeNumber({ min: 1, max: 1000 }),
  retention: either(name, wholeNumber({ min: 1000 })),
  maxAhead: either(name, wholeNumber({ min: 1000 })),
}
const MOST_FEATURES = 256
/** Names whose place or meaning in an object is not that of others. */
const NO_NAME = /^(\d*|__proto__)$/

/** One feature as rows have it. */
interface PlannedFeature<T> {
  readonly name: string
  readonly call: string
  readonly take: (event: T) => unknown
  readonly isNumber: boolean
  readonly tally: Tally<unknown, unknown>
}

/**
 * A definition of features that is ready to fold events into rows and to read rows. The operator and the export use the
 * same one, so that they cannot differ.
 */
export class FeaturePlan<T, D extends FeatureDefinition<T>> {
  readonly features: readonly PlannedFeature<T>[]
  readonly retentionMs: number
  /** Undefined where an event may be at any time. */
  readonly maxAheadMs: number | undefined
  private readonly inputs: unknown[]
  private readonly open: OpenRow

  /** Throws INVALID_ARGUMENT. */
  constructor(definition: D, options: FeatureOptions = {}) {
    const given = requireDefinition(definition)
    checkOptions('features', FEATURES, options)
    const { tiles = 60, retention, maxAhead } = options
    this.maxAheadMs =
      maxAhead === undefined ? undefined : lengthMs(maxAhead, 'maxAhead of features')
    this.retentionMs = retentionOf(given, retention)
    this.features = given.map(([name, { parts }]) => {
      const { call, take, isNumber, windowMs = this.retentionMs } = parts
      const tally = parts.tallyOf(new Tiling(windowMs, tiles)) as Tally<unknown, unknown>
      return { name, call, take: take as (event: T) => unknown, isNumber, tally }
    })
    this.inputs = this.features.map(() => undefined)
    this.open = new OpenRow(this.features.length)
  }

  /** Most bytes of a row. */
  get mostBytes(): number {
    return this.features.reduce(
      (sum, { tally }) => sum + tally.mostBytes,
      headerBytes(this.features.length),
    )
  }

  /** A row without events. */
  newRow(): FeatureRow {
    return FeatureRow.empty(this.features.length)
  }

  /**
   * Takes from an event what the features need, before a row changes; `fold` adds it. False where no feature takes
   * anything: such an event changes no row. Throws INVALID_ARGUMENT, with `where` in the message, for a value that a
   * feature cannot fold.
   */
  take(event: T, where: () => string): boolean {
    const { features, inputs } = this
    let isTaken = false
    for (let n = 0; n < features.length; n++) {
      const feature = features[n]!
      const input = feature.take(event)
      inputs[n] = input
      if (input === null || input === undefined) continue
      isTaken = true
      const takes = feature.tally.check(input)
      if (takes !== undefined) throw refusedInput(feature, input, takes, where())
    }
    return isTaken
  }

  /** Adds what was taken from an event at its time, ms of event time, 0 <= time < END_OF_TILES. */
  fold(row: FeatureRow, time: number): void {
    const { features, inputs, open } = this
    open.load(row)
    if (time > open.newest) open.newest = time
    for (let n = 0; n < features.length; n++) {
      const input = inputs[n]
      if (input !== null && input !== undefined) features[n]!.tally.add(open, n, time, input)
    }
    open.store(row)
  }

  /** The features at a time; a time before the newest event of the row counts as that of this event. */
  read(row: FeatureRow, time: number): FeatureValues<D> {
    const { open } = this
    const at = Math.max(time, row.newest)
    open.load(row)
    const values: Record<string, unknown> = {}
    for (let n = 0; n < this.features.length; n++) {
      const { name, tally } = this.features[n]!
      values[name] = tally.read(open, n, at)
    }
    return values as FeatureValues<D>
  }

  /** As `read`, as float32 in the order of the definition; `missing` stands for a value that is null. */
  readVector(row: FeatureRow, time: number, missing: number): Float32Array {
    const { open } = this
    const at = Math.max(time, row.newest)
    open.load(row)
    return Float32Array.from(this.features, ({ tally }, n) => {
      const value = tally.read(open, n, at)
      return typeof value === 'number' ? value : missing
    })
  }

  /** Throws INVALID_ARGUMENT where a feature is no number. */
  requireNumbers(call: string): void {
    const other = this.features.find(({ isNumber }) => !isNumber)
    if (other === undefined) return
    throw new WeirError(
      'INVALID_ARGUMENT',
      `${call}: feature "${other.name}" is a ${other.call}, which is no number: leave it out of the definition, or give it one of its own with as: 'row'`,
    )
  }
}

/** Whether an event time has tiles: from 1970 on, before the year 2106. */
export function hasTiles(time: number): boolean {
  return time >= 0 && time < END_OF_TILES
}

function requireDefinition<T>(
  definition: FeatureDefinition<T>,
): readonly (readonly [string, Feature<T, unknown>])[] {
  const takes = "an object of features: { clicks_1h: count().over('1h') }"
  if (typeof definition !== 'object' || definition === null) {
    refuseArgument('features(...)', definition, takes)
  }
  const given = Object.entries(definition)
  if (given.length === 0 || given.length > MOST_FEATURES) {
    const message = `features(...) takes ${takes}; it has ${given.length} features, and 1 to ${MOST_FEATURES} are possible`
    throw new WeirError('INVALID_ARGUMENT', message)
  }
  for (const [name, feature] of given) {
    if (NO_NAME.test(name)) {
      const message = `features(...): "${name}" is no name of a feature: objects have names of digits alone in an order of their own; write one with a letter, such as "clicks_1h"`
      throw new WeirError('INVALID_ARGUMENT', message)
    }
    if (!(feature instanceof Feature)) {
      refuseArgument(`features(...): ${name}`, feature, "a feature: count().over('1h')")
    }
  }
  return given
}

/** How long rows stay. */
function retentionOf<T>(
  given: readonly (readonly [string, Feature<T, unknown>])[],
  retention: string | number | undefined,
): number {
  const named = retention === undefined ? undefined : lengthMs(retention, 'retention of features')
  let longest = 0
  for (const [name, { parts }] of given) {
    const { windowMs, call } = parts
    if (windowMs === undefined && (call !== 'lastN' || named === undefined)) {
      const orRetention = call === 'lastN' ? ', or give the features a retention' : ''
      throw new WeirError(
        'INVALID_ARGUMENT',
        `feature "${name}" has no window: write ${call}(...).over('24h')${orRetention}`,
      )
    }
    if (named !== undefined && windowMs !== undefined && windowMs > named) {
      throw new WeirError(
        'INVALID_ARGUMENT',
        `feature "${name}" has a window of ${windowMs} ms, and rows stay for ${named} ms (retention): raise retention, or shorten the window`,
      )
    }
    longest = Math.max(longest, windowMs ?? 0)
  }
  return named ?? longest
}

function refusedInput<T>(
  { name, call }: PlannedFeature<T>,
  input: unknown,
  takes: string,
  where: string,
): WeirError {
  return new WeirError(
    'INVALID_ARGUMENT',
    `feature "${name}" of ${where} got ${describeValue(input)}: ${call} takes ${takes}; return null to leave an event out of the feature, or leave such events out with filter before features(...) or with onError('skip')`,
  )
}
