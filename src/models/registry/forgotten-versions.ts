import { type RegisteredVersion, type RegistryState, versionsOf } from './version.ts'

/** Most retired versions of a model that the registry has records of, beside the best ones. */
export const RETIRED_VERSIONS = 100

/**
 * The retired versions whose records are deleted: all but the newest `RETIRED_VERSIONS`. The best version
 * ever promoted stays, for each golden set of the others: candidates are compared with it.
 */
export function forgottenVersions(
  state: RegistryState,
  name: string,
): readonly RegisteredVersion[] {
  const all = versionsOf(state, name)
  const retired = all.filter((version) => version.state === 'retired')
  const old = new Set(retired.slice(0, -RETIRED_VERSIONS))
  if (old.size === 0) return []
  const goldenSets = new Set(all.filter((version) => !old.has(version)).map(goldenOf))
  for (const golden of goldenSets) {
    const best = golden === undefined ? undefined : bestOn(golden, all)
    if (best !== undefined) old.delete(best)
  }
  return [...old]
}

const goldenOf = ({ golden }: RegisteredVersion): string | undefined => golden?.golden

/** Whether candidates are compared with a version: it was live. One that failed a check was forced. */
export function isMeasure({ notes, checks }: RegisteredVersion): boolean {
  const wasLive = notes.some(({ event }) => event === 'promoted' || event === 'forced')
  return wasLive && checks.every(({ passed }) => passed)
}

/** The version with the smallest mean error on a golden set; undefined if none was measured on it. */
function bestOn(
  golden: string,
  versions: readonly RegisteredVersion[],
): RegisteredVersion | undefined {
  let best: { readonly version: RegisteredVersion; readonly error: number } | undefined
  for (const version of versions) {
    if (goldenOf(version) !== golden || !isMeasure(version)) continue
    const error = meanOf(goldenErrors(version))
    if (best === undefined || error < best.error) best = { version, error }
  }
  return best?.version
}

/** The stored errors of a version on its golden set; empty if it has none. */
export function goldenErrors({ golden }: RegisteredVersion): Float32Array {
  const bytes = Uint8Array.from(Buffer.from(golden?.squares ?? '', 'base64'))
  return new Float32Array(bytes.buffer)
}

/** Mean of errors. */
export function meanOf(errors: Float32Array): number {
  let sum = 0
  for (const error of errors) sum += error
  return sum / errors.length
}
