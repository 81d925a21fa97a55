import type { RegisteredVersion } from '../models/registry-version.ts'

/** One line of `weir model list`. */
export function versionLine(version: RegisteredVersion): string {
  const { number, state, users, items, lineage, createdMs, processingName } = version
  const [metric] = Object.entries(lineage.metrics)
  const quality = metric === undefined ? '' : `${metric[0]} ${metric[1].toFixed(4)}`
  const passes = version.checks.filter(({ passed }) => passed).length
  return [
    String(number).padStart(7),
    state.padEnd(9),
    `${users} x ${items}`.padEnd(16),
    `${passes} of 3 checks`.padEnd(13),
    quality.padEnd(15),
    new Date(createdMs).toISOString().slice(0, 19).replace('T', ' '),
    processingName,
  ].join('  ')
}

/** All that is known of a version, a line each. */
export function versionText(version: RegisteredVersion, nowMs: number): readonly string[] {
  const { lineage } = version
  const time = (ms: number): string => (ms < 0 ? 'unknown' : new Date(ms).toISOString())
  return [
    `version          ${version.number} of ${version.name} (${version.state})`,
    `id               ${version.id}`,
    `processing name  ${version.processingName}`,
    `created          ${time(version.createdMs)}`,
    `rows             ${version.users} users, ${version.items} items, ${version.dimension} floats each`,
    `code             ${lineage.code}`,
    `parent           ${lineage.parent ?? 'none'}`,
    ...(lineage.checkpoint === undefined ? [] : [`warm start       ${lineage.checkpoint}`]),
    `newest event     ${time(lineage.newestEventMs)}`,
    ...(lineage.newestEventMs < 0
      ? []
      : [`freshness        ${Math.round((nowMs - lineage.newestEventMs) / 1000)} s since then`]),
    ...lineage.ranges.map(
      ({ topic, partition, from, to }) => `data             ${topic}/${partition} ${from} to ${to}`,
    ),
    ...(lineage.replayed ?? []).map(
      ({ topic, partition, from, to }) => `replayed         ${topic}/${partition} ${from} to ${to}`,
    ),
    ...lineage.files.map(({ file, sha256 }) => `data             ${file} ${sha256.slice(0, 16)}`),
    ...Object.entries(lineage.hyperparameters).map(
      ([name, value]) => `parameter        ${name} ${value}`,
    ),
    ...Object.entries(lineage.metrics).map(([name, value]) => `metric           ${name} ${value}`),
    ...version.checks.flatMap(checkText),
    ...version.notes.map(
      ({ atMs, event, text }) =>
        `history          ${time(atMs)} ${event}${text === undefined ? '' : `: ${text}`}`,
    ),
  ]
}

function checkText({
  check,
  passed,
  subject,
  against,
  measures,
}: RegisteredVersion['checks'][number]): readonly string[] {
  const live = against === 0 ? '' : `, against version ${against}`
  return [
    `check            ${check} ${passed ? 'passed' : 'FAILED'} (${subject}${live})`,
    ...measures.map(
      (measure) =>
        `                   ${measure.passed ? ' ' : '!'} ${measure.name}: ${short(measure.value)} ${measure.relation} ${short(measure.bound)}`,
    ),
  ]
}

/** A number as short as it reads well. */
export function short(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(5)))
}
