import { isWeirError, requireArgument, WeirError } from '../../core/errors.ts'
import { HIGHEST_VERSION } from '../../core/model-version.ts'
import { wholeNumber } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { isLearnedPart, type LearnedPart } from './learned-part.ts'
import { isPublisher, type Publisher } from './publisher.ts'
import { isTrainedOn, type TrainedOn } from './ranges/trained-on.ts'
import { isVersionRanges, type VersionRanges } from './ranges/version-ranges.ts'

/**
 * The record of an event of a model version: key `!version@<version>`, value JSON. It is written to every
 * partition of the model topic, after the rows of the version.
 *
 *   announce  rows of the version follow; written again as a sign of life while they do
 *   ready     all rows of the version are in the topic before this record
 *   promote   the version becomes the live one
 *   retire    its rows may be dropped: the version is dropped, or its publication was abandoned
 *
 * A version leaves the topic in this order: `retire` with `rowsLeft`, a deletion of every row, `retire` without it. So an
 * interrupted deletion is seen and can be continued.
 *
 * The topic keeps the `retire` markers of the last `RETIRED_MARKERS` retired versions. Those before are deleted; their
 * numbers are in the field `forgotten` of the others.
 */
export type ModelVersionEvent = 'announce' | 'ready' | 'promote' | 'retire'

/** Most `retire` markers of a model topic. */
export const RETIRED_MARKERS = 100

const EVENTS: readonly ModelVersionEvent[] = ['announce', 'ready', 'promote', 'retire']

/** A version marker. */
export interface ModelVersionMarker {
  readonly event: ModelVersionEvent
  readonly version: number
  /** Name of the model, for example `ALS_MODEL`. */
  readonly name: string
  /** Floats of a row, bias columns included. */
  readonly dimension: number
  /** Whether rows carry biases (`../als/row.ts`). */
  readonly biased: boolean
  /** Whether its publisher registers it: only the registry makes it live. Missing in markers of earlier builds. */
  readonly registered?: boolean
  /** Number of partitions that have the marker; undefined in old markers. */
  readonly partitions?: number
  /** Rows of each kind. */
  readonly users: number
  readonly items: number
  /** Mean rating of the training set. */
  readonly globalMean: number
  /** Smallest and largest rating of the training set; predictions are clipped to them. */
  readonly minRating?: number
  readonly maxRating?: number
  readonly hyperparameters: Readonly<Record<string, number | string | boolean>>
  readonly metrics: Readonly<Record<string, number>>
  /** What it was trained on, if that was files; undefined in markers of earlier builds. */
  readonly trainedOn?: TrainedOn
  /** For an ALS model: count, mean and second moments of its rows (`published-moments.ts`). */
  readonly rowMoments?: { readonly user: string; readonly item: string }
  /** Variances of ratings of a user and an item without a row, where rows have variances (`../als/row-variance.ts`). */
  readonly coldVariances?: { readonly user: number; readonly item: number }
  /** What the rows include of what was learned online; undefined before the first write-back. */
  readonly learned?: LearnedPart
  /** Of an `announce` marker: who writes the version. Missing in markers of earlier builds. */
  readonly publisher?: Publisher
  /** Of a `retire` marker: the version never was complete, so its number may be published by name. */
  readonly incomplete?: boolean
  /** Of a `retire` marker: not all of its rows are deleted yet. */
  readonly rowsLeft?: boolean
  /** Of a `retire` marker: versions that were retired before and have no marker any more. */
  readonly forgotten?: VersionRanges
}

const KEY_PREFIX = '!version@'

/** The record key of a version's marker. */
export function markerKey(version: number): string {
  checkArgument('markerKey', 'version', wholeNumber({ min: 0 }), version)
  return `${KEY_PREFIX}${version}`
}

/** Whether a record of the model topic is a marker: its key begins with `!version@`. */
export function isMarkerKey(bytes: Uint8Array, start = 0, length: number = bytes.length): boolean {
  if (length <= KEY_PREFIX.length) return false
  for (let i = 0; i < KEY_PREFIX.length; i++) {
    if (bytes[start + i] !== KEY_PREFIX.charCodeAt(i)) return false
  }
  return true
}

const KEY = new RegExp(`^${KEY_PREFIX}([0-9]{1,10})$`)

/** The version of a marker's key; undefined for other keys. A deleted marker has nothing but its key. */
export function versionOfMarkerKey(bytes: Uint8Array): number | undefined {
  if (!isMarkerKey(bytes)) return undefined
  const digits = KEY.exec(Buffer.from(bytes).toString('latin1'))?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/** The marker of a version's retirement: of the rest of the metadata nothing is needed any more. */
export function retireMarker(
  marker: ModelVersionMarker,
  retired: Pick<ModelVersionMarker, 'forgotten' | 'incomplete' | 'rowsLeft'>,
): ModelVersionMarker {
  const {
    rowMoments: _,
    coldVariances: _______,
    learned: __,
    trainedOn: ______,
    publisher: ___,
    incomplete: ____,
    rowsLeft: _____,
    ...rest
  } = marker
  return { ...rest, ...retired, event: 'retire', hyperparameters: {}, metrics: {} }
}

/** Value bytes of a marker. Throws INVALID_ARGUMENT if a field is out of range. */
export function encodeMarker(marker: ModelVersionMarker): Uint8Array {
  const wrong = firstWrongField(marker as unknown as Record<string, unknown>)
  requireArgument(wrong === undefined, `the version marker's ${wrong} is missing or out of range`)
  return new TextEncoder().encode(JSON.stringify(marker))
}

/** Reads a marker's value. Throws UNPARSABLE_RECORD that names the field. */
export function decodeMarker(value: Uint8Array): ModelVersionMarker {
  let parsed: unknown
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(value))
  } catch (cause) {
    throw new WeirError('UNPARSABLE_RECORD', 'a version marker is not JSON', { cause })
  }
  const fields = (typeof parsed === 'object' ? parsed : null) as Record<string, unknown> | null
  const wrong = fields === null ? 'value' : firstWrongField(fields)
  if (wrong !== undefined) {
    throw new WeirError(
      'UNPARSABLE_RECORD',
      `a version marker's ${wrong} is missing or out of range`,
      { details: { field: wrong } },
    )
  }
  // A model of implicit feedback has no range of ratings: JSON has null for its infinite ends.
  const marker = fields as unknown as ModelVersionMarker
  const { minRating, maxRating, ...unbounded } = marker
  // The fields keep their order: the id of an adopted version is a hash of them.
  return Number.isFinite(minRating) && Number.isFinite(maxRating) ? marker : unbounded
}

/** As `decodeMarker`; undefined for a marker that cannot be read, which a list of versions leaves out. */
export function readableMarker(value: Uint8Array): ModelVersionMarker | undefined {
  try {
    return decodeMarker(value)
  } catch (error) {
    if (isWeirError(error, 'UNPARSABLE_RECORD')) return undefined
    throw error
  }
}

function firstWrongField(fields: Record<string, unknown>): string | undefined {
  const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0
  const isRecord = (value: unknown): boolean => typeof value === 'object' && value !== null
  const checks: Record<string, boolean> = {
    event: EVENTS.includes(fields['event'] as ModelVersionEvent),
    version:
      isCount(fields['version']) &&
      Number(fields['version']) >= 1 &&
      Number(fields['version']) <= HIGHEST_VERSION,
    name: typeof fields['name'] === 'string' && fields['name'] !== '',
    dimension: isCount(fields['dimension']) && Number(fields['dimension']) >= 1,
    partitions: fields['partitions'] === undefined || isCount(fields['partitions']),
    biased: typeof fields['biased'] === 'boolean',
    registered: ['boolean', 'undefined'].includes(typeof fields['registered']),
    users: isCount(fields['users']),
    items: isCount(fields['items']),
    globalMean: Number.isFinite(fields['globalMean']),
    hyperparameters: isRecord(fields['hyperparameters']),
    metrics: isRecord(fields['metrics']),
    trainedOn: fields['trainedOn'] === undefined || isTrainedOn(fields['trainedOn']),
    rowMoments: fields['rowMoments'] === undefined || isMoments(fields['rowMoments']),
    coldVariances: fields['coldVariances'] === undefined || areVariances(fields['coldVariances']),
    learned: fields['learned'] === undefined || isLearnedPart(fields['learned']),
    publisher: fields['publisher'] === undefined || isPublisher(fields['publisher']),
    incomplete: ['boolean', 'undefined'].includes(typeof fields['incomplete']),
    rowsLeft: ['boolean', 'undefined'].includes(typeof fields['rowsLeft']),
    forgotten: fields['forgotten'] === undefined || isVersionRanges(fields['forgotten']),
  }
  return Object.keys(checks).find((name) => checks[name] !== true)
}

function areVariances(value: unknown): boolean {
  const { user, item } = (value ?? {}) as Record<string, unknown>
  return [user, item].every((part) => Number.isFinite(part) && Number(part) >= 0)
}

function isMoments(value: unknown): boolean {
  const { user, item } = (value ?? {}) as Record<string, unknown>
  return typeof user === 'string' && typeof item === 'string'
}
