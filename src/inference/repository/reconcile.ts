import { isWeirError } from '../../core/errors.ts'
import type { FoundModel } from './scan.ts'

/** Facts about a model in the process: what runs, and what failed. */
export interface ServedFacts {
  /** Versions that can be asked. */
  readonly loaded: ReadonlySet<number>
  /** Versions that are being loaded. */
  readonly loading: ReadonlySet<number>
  /** Fingerprint of each version at its last failed load. */
  readonly failed: ReadonlyMap<number, string>
  /** Fingerprint of each version at the scan before this one. */
  readonly before: ReadonlyMap<number, string>
  /** Version that answers requests that name none; 0 for none. */
  readonly live: number
  /** An operator has unloaded the model. */
  readonly isUnloaded: boolean
  /** Versions that pipelines name. */
  readonly held?: ReadonlySet<number>
}

/** A model on disk, with the aliases that could be read last. */
export type ReadableModel = Pick<FoundModel, 'settings' | 'versions'> & {
  readonly aliases: Readonly<Record<string, number>>
}

/** What to do for one model now. */
export interface Reconciliation {
  readonly load: readonly number[]
  readonly unload: readonly number[]
  /** Version that answers from now on; 0 for none. */
  readonly live: number
}

/**
 * Compares a model on disk with what is served. The wanted versions are the live one, those with an alias, and those
 * that a pipeline names. A version is loaded when its files were the same at two scans, so that a folder that is still being
 * copied is left alone; one that failed is tried again when its files change. The version that is live
 * stays until the next one is loaded: no request fails by a swap. Pure.
 */
export function reconcile(found: ReadableModel | undefined, facts: ServedFacts): Reconciliation {
  const { loaded, loading, failed, before, isUnloaded, held = [] } = facts
  if (found === undefined || isUnloaded) return { load: [], unload: [...loaded], live: 0 }
  const wanted = wantedVersions(found, failed)
  for (const version of held) wanted.all.add(version)
  const load = found.versions
    .filter(
      ({ version, source, fingerprint }) =>
        wanted.all.has(version) &&
        !loaded.has(version) &&
        !loading.has(version) &&
        !isWeirError(source) &&
        before.get(version) === fingerprint &&
        failed.get(version) !== fingerprint,
    )
    .map(({ version }) => version)
  const live = loaded.has(wanted.live) ? wanted.live : kept(found, facts)
  const unload = [...loaded].filter((version) => version !== live && !wanted.all.has(version))
  return { load, unload, live }
}

/** The live version stays while it is on disk and the wanted one is not ready. */
function kept({ versions }: ReadableModel, { live, loaded }: ServedFacts): number {
  return loaded.has(live) && versions.some(({ version }) => version === live) ? live : 0
}

function wantedVersions(found: ReadableModel, failed: ServedFacts['failed']) {
  const { settings, aliases, versions } = found
  const all = new Set(Object.values(aliases))
  if (isWeirError(settings)) return { live: 0, all }
  const { version } = settings
  const isUsable = (one: ReadableModel['versions'][number]): boolean =>
    !isWeirError(one.source) && failed.get(one.version) !== one.fingerprint
  const live =
    version === 'latest'
      ? (versions.findLast(isUsable)?.version ?? 0)
      : typeof version === 'number'
        ? version
        : (aliases[version.alias] ?? 0)
  if (live !== 0) all.add(live)
  return { live, all }
}
