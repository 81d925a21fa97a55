import { WeirError } from '../../core/errors.ts'
import { notPromoted } from '../../core/model-version.ts'
import type { ModelInfo, ModelVersionInfo } from '../../wire/inference/models.ts'
import { MODEL_KIND, type QueryableStateInfo } from '../../wire/routing-table.ts'

/** What is known of a model and its versions. */
interface KnownModel {
  readonly info: Pick<QueryableStateInfo, 'name' | 'kind' | 'liveVersion' | 'versions'>
  readonly versions: readonly ModelVersionInfo[]
  readonly problems: readonly string[]
}

/** Throws why a model has no live version that answers: MODEL_NOT_LOADED, or RESTORING for a model of rows. */
export function requireLive({ info, versions, problems }: KnownModel): void {
  const { name, kind, liveVersion } = info
  const live = versions.find(({ version }) => version === liveVersion)
  if (live?.state === 'UNAVAILABLE') throw notLoaded(`model "${name}"`, live.reason)
  if (liveVersion > 0) return
  if (kind === MODEL_KIND) throw notLoaded(`model "${name}"`, whyNoneIsLive(versions, problems))
  throw notPromoted(`no version of "${name}" is live yet`, info.versions)
}

/** Throws MODEL_NOT_LOADED for a version that is there and does not answer. */
export function requireReady({ info, versions }: KnownModel, version: number): void {
  const found = versions.find((one) => one.version === version)
  if (found === undefined || found.state === 'READY') return
  throw notLoaded(`version ${version} of "${info.name}"`, reasonOf(found))
}

function notLoaded(what: string, reason: string): WeirError {
  return new WeirError('MODEL_NOT_LOADED', `${what} is not loaded: ${reason}`)
}

/** Why a model has no live version: its newest version is the one that should be live. */
function whyNoneIsLive(
  versions: readonly ModelVersionInfo[],
  problems: ModelInfo['problems'],
): string {
  const loading = versions.find(({ state }) => state === 'LOADING')
  const shown = loading ?? versions.at(-1)
  if (loading === undefined && problems.length > 0) return problems[0]!
  return shown === undefined ? 'it has no version' : reasonOf(shown)
}

const reasonOf = ({ state, reason }: ModelVersionInfo): string =>
  state === 'LOADING' ? 'it is being loaded; try again' : reason
