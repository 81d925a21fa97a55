import type { JobCatalog } from '../../state/catalog/job-catalog.ts'
import type { QueryableStateInfo } from '../../wire/routing-table.ts'

/**
 * The queryable states of a job as the routing table lists them; `liveVersionOf` gives 0 for a name
 * without a live version.
 */
export function stateInfosOf(
  catalog: JobCatalog,
  liveVersionOf: (name: string) => number,
): QueryableStateInfo[] {
  const infos = new Map<string, QueryableStateInfo>()
  for (const { queryableName: name, dimension, version } of catalog.tables()) {
    if (name === undefined) continue
    const known = infos.get(name)?.versions ?? []
    const versions = [...new Set([...known, version])].sort((a, b) => a - b)
    infos.set(name, { name, kind: 'vector', dimension, versions, liveVersion: liveVersionOf(name) })
  }
  for (const { queryableName: name, kind } of catalog.typedStates()) {
    infos.set(name, { name, kind, dimension: 0, versions: [], liveVersion: 0 })
  }
  return [...infos.values()]
}
