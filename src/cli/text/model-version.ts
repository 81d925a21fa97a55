import { ageText } from '../../core/text/age.ts'
import { isLearningStopped } from '../../models/registry/learning-phase.ts'
import type { DataRange } from '../../models/registry/ranges/data-range.ts'
import type { ObservationsDigest } from '../../models/registry/ranges/observations-digest.ts'
import { LATEST_MS } from '../../models/registry/ranges/trained-on.ts'
import type { UnfinishedVersion } from '../../models/registry/unfinished.ts'
import type { RegisteredVersion, VersionLineage } from '../../models/registry/version.ts'
import { bytesText } from './bytes.ts'
import { counted } from './counted.ts'

/** One line of `weir model list`. */
export function versionLine(version: RegisteredVersion): string {
  const { number, state, users, items, lineage, createdMs, processingName } = version
  const [metric] = Object.entries(lineage.metrics)
  const quality = metric === undefined ? '' : `${metric[0]} ${metricText(metric[1])}`
  const passes = version.checks.filter(({ passed }) => passed).length
  return [
    String(number).padStart(7),
    state.padEnd(10),
    sizeText(users, items).padEnd(16),
    `${passes} of 3 checks`.padEnd(13),
    quality.padEnd(15),
    new Date(createdMs).toISOString().slice(0, 19).replace('T', ' '),
    processingName,
    ...(isLearningStopped(version.learning?.phase ?? 0) ? ['learning is stopped'] : []),
  ].join('  ')
}

const UNFINISHED: Readonly<Record<UnfinishedVersion['kind'], (version: number) => string>> = {
  publishing: () => 'its publisher runs',
  incomplete: (version) => `its publication was interrupted; weir model drop ${version}`,
  unregistered: (version) => `its retraining was interrupted; weir model drop ${version}`,
  deleting: (version) => `its deletion was interrupted; weir model drop ${version}`,
}

/** One line of `weir model list` of a version that is not whole. */
export function unfinishedLine({ marker, kind, publisher, ...size }: UnfinishedVersion): string {
  const what =
    kind === 'publishing' && publisher !== 'running'
      ? 'its publisher may run on another machine'
      : UNFINISHED[kind](marker.version)
  const rows = `${counted(size.rows, 'row')}, ${bytesText(size.bytes)}`
  return `${String(marker.version).padStart(7)}  ${kind.padEnd(10)}  ${rows.padEnd(31)}  ${what}`
}

/** A metric: a count as it is, anything else with four decimals. */
function metricText(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(4)
}

/** Users and items of an ALS model; a linear model has blocks of weights, counted as items, and no users. */
function sizeText(users: number, items: number): string {
  return users === 0 ? counted(items, 'block') : `${users} x ${items}`
}

function rowsText({ users, items }: RegisteredVersion): string {
  return users === 0
    ? `${counted(items, 'block')} of weights`
    : `${counted(users, 'user')}, ${counted(items, 'item')}`
}

/** Everything the registry knows about a version, one line each. */
export function versionText(version: RegisteredVersion, nowMs: number): readonly string[] {
  const { lineage } = version
  const time = (ms: number): string =>
    ms < 0 || ms > LATEST_MS ? 'unknown' : new Date(ms).toISOString()
  return [
    `version          ${version.number} of ${version.name} (${version.state})`,
    `id               ${version.id}`,
    `processing name  ${version.processingName}`,
    `created          ${time(version.createdMs)}`,
    `rows             ${rowsText(version)}, ${version.dimension} floats each`,
    `code             ${lineage.code}`,
    `parent           ${lineage.parent ?? 'none'}`,
    ...(lineage.checkpoint === undefined ? [] : [`warm start       ${lineage.checkpoint}`]),
    `newest event     ${time(lineage.newestEventMs)}`,
    ...(lineage.newestEventMs < 0
      ? []
      : [`freshness        the newest event is ${ageText(nowMs - lineage.newestEventMs)}`]),
    ...topicsText(lineage),
    ...lineage.ranges.map((range) => `data             ${rangeText(range)}`),
    ...(lineage.replayed ?? []).map((range) => `replayed         ${rangeText(range)}`),
    ...lineage.files.map(
      ({ file, sha256, read }) =>
        `data             ${file} ${sha256.slice(0, 16)}${readText(read)}`,
    ),
    ...Object.entries(lineage.hyperparameters).map(
      ([name, value]) => `parameter        ${name} ${value}`,
    ),
    ...Object.entries(lineage.metrics).map(([name, value]) => `metric           ${name} ${value}`),
    ...version.checks.flatMap(checkText),
    ...learningText(version, time),
    ...version.notes.map(
      ({ atMs, event, text }) =>
        `history          ${time(atMs)} ${event}${text === undefined ? '' : `: ${text}`}`,
    ),
  ]
}

/** Where learning on the version stands, if it was ever stopped. */
function learningText(
  { learning }: RegisteredVersion,
  time: (ms: number) => string,
): readonly string[] {
  if (learning === undefined) return []
  const { phase, atMs, text } = learning
  return [
    `learning         ${isLearningStopped(phase) ? 'stopped' : 'resumed'} ${time(atMs)}: ${text}`,
  ]
}

function rangeText({ topic, partition, from, to, read }: DataRange): string {
  return `${topic}/${partition} ${from} to ${to}${readText(read?.all)}`
}

/** Number and digest of what was read; nothing for a version of an earlier build. */
function readText(read: ObservationsDigest | undefined): string {
  return read === undefined ? '' : `, ${counted(read.count, 'observation')}, digest ${read.sum}`
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
        `                   ${measure.passed ? ' ' : '!'} ${measure.name}: ${shortNumber(measure.value)} ${measure.relation} ${shortNumber(measure.bound)}${measure.detail === undefined ? '' : ` (${measure.detail})`}`,
    ),
  ]
}

/** A number with at most five digits. */
export function shortNumber(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(5)))
}

/** The topics of the training data, one line each: offsets mean other records in another topic of the same name. */
function topicsText({ ranges }: VersionLineage): readonly string[] {
  const line = ({ topic, topicId, clusterId }: DataRange): string => {
    const id = topicId === undefined || topicId === '' ? 'id not known' : `id ${topicId}`
    return `topic            ${topic}, ${id}${clusterId === undefined ? '' : `, of ${clusterId}`}`
  }
  return [...new Set(ranges.map(line))]
}
