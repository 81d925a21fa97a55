import type { JobCatalog } from '../../state/catalog/job-catalog.ts'
import type { QueryableStateInfo, VersionLabels, VersionTerms } from '../../wire/routing-table.ts'

/** What the tables of a job do not say of its states. */
export interface StateFacts {
  /** 0 for a name without a live version. */
  liveVersionOf(name: string): number
  /** Undefined for a state that is no linear model. */
  labelsOf(name: string): readonly VersionLabels[] | undefined
  /** Undefined for a state that is no model of implicit feedback. */
  termsOf(name: string): readonly VersionTerms[] | undefined
}

/** The queryable states of a job as the routing table lists them. */
export function stateInfosOf(catalog: JobCatalog, facts: StateFacts): QueryableStateInfo[] {
  const infos = new Map<string, QueryableStateInfo>()
  for (const { queryableName: name, dimension, version } of catalog.tables()) {
    if (name === undefined) continue
    const known = infos.get(name)?.versions ?? []
    const versions = [...new Set([...known, version])].sort((a, b) => a - b)
    const liveVersion = facts.liveVersionOf(name)
    const before = infos.get(name)?.dimension
    const isOpen = (one: { readonly version: number }): boolean => versions.includes(one.version)
    const labels = facts.labelsOf(name)?.filter(isOpen)
    const terms = facts.termsOf(name)?.filter(isOpen)
    infos.set(name, {
      ...{ name, kind: 'vector', versions, liveVersion },
      // Versions may differ: it is that of the live one.
      dimension: before === undefined || version === liveVersion ? dimension : before,
      ...(labels === undefined ? {} : { labels }),
      ...(terms === undefined ? {} : { terms }),
    })
  }
  for (const share of catalog.typedStates()) {
    const { queryableName: name, kind, keys, keyFormat, valueFormat, mapKeyFormat } = share
    infos.set(name, {
      ...{ name, kind, dimension: 0, versions: [], liveVersion: 0 },
      ...(keys === undefined ? {} : { keys }),
      ...(keyFormat === undefined ? {} : { keyFormat }),
      ...(valueFormat === undefined ? {} : { valueFormat }),
      ...(mapKeyFormat === undefined ? {} : { mapKeyFormat }),
    })
  }
  return [...infos.values()]
}
