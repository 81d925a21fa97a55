import type { AskedModel } from '../../../jobs/asked-models.ts'
import type { ModelInfo, VersionState } from '../../../wire/inference/models.ts'
import type { ServedModelsView, ServedModelView } from '../port/job-data.ts'

/** Models as the REST interface shows them, by name. */
export function servedModelsView(models: readonly AskedModel[]): ServedModelsView {
  return { models: models.map(servedModelView).sort((a, b) => (a.name < b.name ? -1 : 1)) }
}

/** A model that a job asks, as the REST interface shows it. */
export function servedModelView({ info, settings }: AskedModel): ServedModelView {
  const { name, kind, liveVersion, versions, aliases, revision, problems, statistics } = info
  const shown = { name, kind, liveVersion, versions, aliases, revision, problems, statistics }
  return { ...shown, ...stateOf(info), settings }
}

/** Without a live version the newest one says why: it is the one that should be live. */
function stateOf({ versions, liveVersion }: ModelInfo): { state: VersionState; reason: string } {
  const live = versions.find(({ version }) => version === liveVersion)
  if (live !== undefined) return { state: live.state, reason: live.reason }
  if (versions.some(({ state }) => state === 'LOADING')) return { state: 'LOADING', reason: '' }
  return { state: 'UNAVAILABLE', reason: versions.at(-1)?.reason ?? 'it has no version' }
}
