import type { TopicStore } from '../../connectors/topics/store.ts'
import type { Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { UnfinishedVersion } from '../registry/unfinished.ts'
import { findVersion } from '../registry/version.ts'
import { type AllVersions, versionNamed } from '../versions/model-administration.ts'
import type { ModelRegistry } from '../versions/model-registry.ts'
import { retireVersions } from './retire-versions.ts'

/** What a name of `dropVersion` is. */
export type DropTarget =
  /** A version of the registry. */
  | { readonly kind: 'registered'; readonly number: number }
  /** A version that is not whole and that the registry does not have. */
  | { readonly kind: 'unfinished'; readonly number: number }
  /** Its rows are deleted already. */
  | { readonly kind: 'dropped'; readonly number: number }
  /** A publisher writes it, or may write it. */
  | { readonly kind: 'publishing'; readonly version: UnfinishedVersion }
  | { readonly kind: 'unknown' }

/** What the versions of a model have under a name (`findVersion`). `isGone`: its publisher has ended, as a person says. */
export function dropTarget(
  { state, unfinished }: AllVersions,
  {
    model,
    word,
    isGone,
  }: { readonly model: string; readonly word: string; readonly isGone: boolean },
): DropTarget {
  const registered = findVersion(state, model, word)
  const left =
    unfinished.find(({ marker }) => String(marker.version) === word) ??
    unfinished.find(({ marker }) => marker.version === registered?.number)
  if (left?.kind === 'publishing' && !(isGone && left.publisher === 'may-run')) {
    return { kind: 'publishing', version: left }
  }
  if (registered === undefined) {
    return left === undefined
      ? { kind: 'unknown' }
      : { kind: 'unfinished', number: left.marker.version }
  }
  const { number } = registered
  const isDropped = registered.state === 'retired' && left === undefined
  return isDropped ? { kind: 'dropped', number } : { kind: 'registered', number }
}

/** Options of `dropVersion`. */
export interface DropOptions {
  readonly topics: TopicStore
  readonly registry: ModelRegistry
  readonly model: string
  /** Name of the version, as in `findVersion`. */
  readonly word: string
  /** The publisher has ended: for one that ran on another machine, which this one cannot see. */
  readonly isGone: boolean
  readonly clock: Clock
  /** All versions of the model, registered (`ModelAdministration`). */
  readonly versions: AllVersions
}

/** Outcome of a drop. */
export interface DroppedVersion {
  readonly number: number
  readonly rows: number
  /** Whether the rows were deleted before. */
  readonly wasDropped: boolean
}

/**
 * Deletes the rows of a version from the topic; its record stays in the registry as retired. Throws UNKNOWN_VERSION, and
 * ILLEGAL_STATE for the live version, the target of a rollback, and one that a publisher writes.
 */
export async function dropVersion(options: DropOptions): Promise<DroppedVersion> {
  const { topics, registry, model, clock, versions, word } = options
  const target = dropTarget(versions, options)
  if (target.kind === 'publishing') throw inPublication(target.version, model)
  const { number } = target.kind === 'unknown' ? versionNamed(versions.state, model, word) : target
  if (target.kind === 'dropped') return { number, rows: 0, wasDropped: true }
  if (target.kind === 'registered') {
    await registry.require({ kind: 'retire', name: model, number, atMs: clock.nowMs() })
  }
  const rows = await retireVersions(topics, model, { versions: [number], clock })
  return { number, rows, wasDropped: false }
}

function inPublication({ marker, publisher, atMs }: UnfinishedVersion, model: string): WeirError {
  const { version } = marker
  const [machine, pid] = marker.publisher?.process.split('/') ?? []
  const whose =
    machine === undefined
      ? 'an earlier build of Weir'
      : `process ${pid?.split('-')[0]} on ${machine.split(':')[0]}`
  const message =
    publisher === 'running'
      ? `version ${version} of ${model} is being published by ${whose}; end that process first`
      : `version ${version} of ${model} may still be published by ${whose}, which last wrote at ${new Date(atMs).toISOString()}; if that process has ended, add --publisher-gone`
  return new WeirError('ILLEGAL_STATE', message, { details: { version } })
}
