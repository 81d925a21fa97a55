import { isCandidate } from './adopt.ts'
import {
  LEASE_MS,
  type Processes,
  type PublisherFacts,
  type PublisherState,
  publisherState,
  SILENT_LEASE_MS,
} from './publisher.ts'
import type { RegisteredVersion } from './version.ts'
import type { ModelVersionMarker } from './version-marker.ts'

/** Hyperparameter of a retraining's candidate: the process that registers it after its checks (`Publisher.process`). */
export const RETRAINING = 'retraining'

/** A version of a model topic as its records show it. */
export interface TopicVersion {
  /** Its last marker. */
  readonly marker: ModelVersionMarker
  /** Time of that marker, ms since 1970. */
  readonly atMs: number
  /** Records of its rows, less those that delete rows; compaction may not have removed replaced ones yet. */
  readonly rows: number
  /** Bytes of keys and values of its rows. */
  readonly bytes: number
}

/** What an unfinished version is. */
export type UnfinishedKind =
  /** A publisher writes it, or may write it. */
  | 'publishing'
  /** Its publisher has ended before all rows were there: it never goes live. */
  | 'incomplete'
  /** A whole candidate whose retraining has ended before it registered it. */
  | 'unregistered'
  /** It was retired, and the deletion of its rows was interrupted, or did not begin. */
  | 'deleting'

/** A version that is not whole, or that no process registers any more. */
export interface UnfinishedVersion extends TopicVersion {
  readonly kind: UnfinishedKind
  readonly publisher: PublisherState
}

/**
 * The version as an unfinished one; undefined for one that is whole, and for one that is gone. `registered`: its record.
 * What a retraining registered, or a person promoted, is not unfinished.
 */
export function unfinishedVersion(
  version: TopicVersion,
  registered: RegisteredVersion | undefined,
  { nowMs, here }: { readonly nowMs: number; readonly here: Processes },
): UnfinishedVersion | undefined {
  const publisher = publisherState(factsOf(version, nowMs), here)
  const kind = kindOf(version.marker, publisher, registered)
  return kind === undefined ? undefined : { ...version, kind, publisher }
}

/**
 * Whether a retention and the next publication delete an unfinished version. Not one of the registry whose rows are being
 * replaced (`--overwrite`): a person decides about what was whole before.
 */
export function isCollectable(
  { kind, marker }: UnfinishedVersion,
  registered: RegisteredVersion | undefined,
): boolean {
  if (kind === 'publishing') return false
  return kind !== 'incomplete' || marker.event === 'retire' || registered === undefined
}

/** An unfinished version in lists. */
export interface UnfinishedView {
  /** Name of the model. */
  readonly name: string
  readonly number: number
  readonly state: UnfinishedKind
  readonly rows: number
  readonly bytes: number
  /** `Publisher.process`; missing where it is not known. */
  readonly publisher?: string
  /** Time of its last marker, ms since 1970. */
  readonly atMs: number
}

/** An unfinished version of a model as lists show it. */
export function unfinishedView(
  { marker, kind: state, rows, bytes, atMs }: UnfinishedVersion,
  name: string,
): UnfinishedView {
  const process = marker.publisher?.process
  const whose = process === undefined ? {} : { publisher: process }
  return { name, number: marker.version, state, rows, bytes, ...whose, atMs }
}

function factsOf({ marker, atMs }: TopicVersion, nowMs: number): PublisherFacts {
  const { publisher } = marker
  if (marker.event === 'announce' && publisher !== undefined) {
    return { process: publisher.process, ageMs: nowMs - publisher.atMs, leaseMs: LEASE_MS }
  }
  return { process: retrainingOf(marker), ageMs: nowMs - atMs, leaseMs: SILENT_LEASE_MS }
}

function retrainingOf(marker: ModelVersionMarker): string | undefined {
  const name = isCandidate(marker) ? marker.hyperparameters[RETRAINING] : undefined
  return typeof name === 'string' ? name : undefined
}

function kindOf(
  marker: ModelVersionMarker,
  publisher: PublisherState,
  registered: RegisteredVersion | undefined,
): UnfinishedKind | undefined {
  const { event, incomplete, rowsLeft } = marker
  if (event === 'retire') {
    if (rowsLeft !== true) return undefined
    return incomplete === true ? 'incomplete' : 'deleting'
  }
  if (event === 'announce') return publisher === 'gone' ? 'incomplete' : 'publishing'
  if (registered?.state === 'retired') return 'deleting'
  const isLeft = retrainingOf(marker) !== undefined && publisher === 'gone'
  return isLeft && isUnclaimed(registered) ? 'unregistered' : undefined
}

/** Whether no retraining has registered the candidate, and no person has promoted it. */
function isUnclaimed(version: RegisteredVersion | undefined): boolean {
  if (version === undefined) return true
  return version.state === 'candidate' && version.lineage.code === 'published'
}
