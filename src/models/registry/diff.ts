import type { RegisteredVersion } from './version.ts'

/** One difference of two versions. */
export interface VersionDifference {
  readonly field: string
  readonly left: string
  readonly right: string
}

/** The differences of two versions in shape, data, parameters, metrics and checks, sorted by field. */
export function diffVersions(
  left: RegisteredVersion,
  right: RegisteredVersion,
): readonly VersionDifference[] {
  const [a, b] = [fieldsOf(left), fieldsOf(right)]
  const names = [...new Set([...a.keys(), ...b.keys()])].sort()
  return names.flatMap((field) => {
    const [was, is] = [a.get(field) ?? '-', b.get(field) ?? '-']
    return was === is ? [] : [{ field, left: was, right: is }]
  })
}

function fieldsOf(version: RegisteredVersion): Map<string, string> {
  const { lineage } = version
  const fields = new Map<string, string>([
    ['state', version.state],
    ['processing name', version.processingName],
    ['dimension', String(version.dimension)],
    ['users', String(version.users)],
    ['items', String(version.items)],
    ['code', lineage.code],
    ['parent', lineage.parent ?? '-'],
  ])
  for (const { topic, partition, from, to, topicId } of lineage.ranges) {
    fields.set(`data ${topic}/${partition}`, `${from} to ${to}`)
    fields.set(`topic ${topic}`, topicId ?? '-')
  }
  for (const { file, sha256 } of lineage.files) fields.set(`data ${file}`, sha256.slice(0, 16))
  for (const [name, value] of Object.entries(lineage.hyperparameters)) {
    fields.set(`parameter ${name}`, String(value))
  }
  for (const [name, value] of Object.entries(lineage.metrics)) {
    fields.set(`metric ${name}`, String(value))
  }
  for (const { check, passed, measures } of version.checks) {
    fields.set(`check ${check}`, passed ? 'passed' : 'failed')
    for (const { name, value } of measures) fields.set(`check ${check}: ${name}`, String(value))
  }
  return fields
}
