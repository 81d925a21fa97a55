import type { RecordView } from '../../connectors/records/topic-record.ts'
import { scanTopic } from '../../connectors/topics/scan.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { WeirError } from '../../core/errors.ts'
import { decodeFactors } from '../als/row.ts'
import type { ModelFileHeader, ModelFileRow } from '../files/model-file.ts'
import { blockKeyLength, versionOfTextKey } from '../linear/weight-row.ts'
import { CANDIDATE } from '../registry/adopt.ts'
import { areOfSameInputs } from '../registry/processing-name.ts'
import type { DataRange } from '../registry/ranges/data-range.ts'
import { RETRAINING } from '../registry/unfinished.ts'
import {
  isLinear,
  type RegisteredVersion,
  type VersionLineage,
  versionsOf,
} from '../registry/version.ts'
import {
  isMarkerKey,
  type ModelVersionMarker,
  readableMarker,
  versionOfMarkerKey,
} from '../registry/version-marker.ts'
import { readPages } from '../topic/pages.ts'
import { blockWeightsIn, textRowOrNone } from '../topic/row-form.ts'
import { varianceOf, weightMemoryIn } from '../topic/row-memory.ts'
import { ratingsIn } from '../topic/row-ratings.ts'
import { keyLengthWithoutVersion, versionOfKeyBytes } from '../versioned-key.ts'
import type { ModelRegistry } from '../versions/model-registry.ts'
import { openModelFile, publishableRows, writeModelFile } from './file-io.ts'
import { collectBefore } from './interrupted.ts'
import { type PublishOptions, publishModel, type VersionMetadata } from './model.ts'

/** Header of an exported file: the version of the registry, and the marker of the topic. */
interface ExportHeader extends ModelFileHeader {
  readonly version: RegisteredVersion
  readonly marker: ModelVersionMarker
}

const decoder = new TextDecoder()

/**
 * Writes the rows of a version, as they were published, with its lineage into a model file; returns
 * the number of rows. The topic is read twice, so that only the keys are in memory. Throws
 * UNKNOWN_VERSION if the topic does not have the complete version.
 */
export async function exportVersion(
  topics: TopicStore,
  version: RegisteredVersion,
  file: string,
): Promise<number> {
  const { places, marker } = await lastRows(topics, version)
  if (marker === undefined) {
    throw new WeirError(
      'UNKNOWN_VERSION',
      `topic ${version.topic} does not have the complete version ${version.number}`,
    )
  }
  const header: ExportHeader = {
    dimension: marker.dimension,
    rows: places.size,
    version,
    marker,
  }
  await writeModelFile(file, header, rowsAt(topics, version, places))
  return places.size
}

/** Positions of the last record of each row of the version, as `<partition>/<offset>`. */
async function lastRows(
  topics: TopicStore,
  version: RegisteredVersion,
): Promise<{
  readonly places: Map<string, string>
  readonly marker: ModelVersionMarker | undefined
}> {
  const places = new Map<string, string>()
  let marker: ModelVersionMarker | undefined
  await scanTopic(topics, version.topic, (record, partition) => {
    const bytes = record.key()
    const value = record.value()
    if (bytes !== null && isMarkerKey(bytes)) {
      if (versionOfMarkerKey(bytes) !== version.number) return true
      const found = value === null ? undefined : readableMarker(value)
      if (found?.event === 'ready') marker = found
      if (value === null || found?.event === 'retire') marker = undefined
      return true
    }
    const row = rowIn(record, version)
    if (row === undefined) return true
    if (value === null) places.delete(row.key)
    else places.set(row.key, `${partition}/${record.offset}`)
    return true
  })
  return { places, marker }
}

/**
 * The row key of a record, and the factors of one with text; undefined if the record is no row of the version. Throws
 * UNSUPPORTED for text weights, which are parts of rows.
 */
function rowIn(
  record: RecordView,
  version: RegisteredVersion,
): { readonly key: string; readonly factors?: Float32Array } | undefined {
  const key = record.key()
  const value = record.value()
  if (isLinear(version)) {
    if (isTextWeights(record)) return refuseTextWeights(key, version)
  } else {
    const text = textRowOrNone(key, value, () => record.headers())
    if (text !== undefined) return text.version === version.number ? text : undefined
  }
  const name = key === null ? undefined : keyIn(key, version.number)
  return name === undefined ? undefined : { key: name }
}

function isTextWeights(record: RecordView): boolean {
  const key = record.key()
  const value = record.value()
  if (value === null) return false
  if (key === null || blockKeyLength(key) < 0) return true
  return blockWeightsIn(value, record.headers()) !== undefined
}

function refuseTextWeights(
  key: Uint8Array | null,
  { topic, number }: RegisteredVersion,
): undefined {
  if (versionOfTextKey(key) !== number) return undefined
  throw new WeirError(
    'UNSUPPORTED',
    `topic ${topic} has text weights of version ${number}, which are parts of rows, so it cannot be exported; publish the weights as a version with "weir model load FILE --kind linear"`,
  )
}

/** The row key of a record, undefined if the record is of another version. */
function keyIn(bytes: Uint8Array, version: number): string | undefined {
  const length = keyLengthWithoutVersion(bytes)
  if (versionOfKeyBytes(bytes, length) !== version) return undefined
  return decoder.decode(bytes.subarray(0, length))
}

/** The rows at the given positions, read page by page. */
async function* rowsAt(
  topics: TopicStore,
  version: RegisteredVersion,
  places: ReadonlyMap<string, string>,
): AsyncGenerator<ModelFileRow> {
  const pages = readPages<ModelFileRow>(topics, version.topic, (record, partition) => {
    const bytes = record.key()
    const value = record.value()
    if (value === null || (bytes !== null && isMarkerKey(bytes))) return undefined
    const row = rowIn(record, version)
    const place = `${partition}/${record.offset}`
    if (row === undefined || places.get(row.key) !== place) return undefined
    const { key, factors } = row
    const headers = record.headers()
    const ratings = ratingsIn(headers)
    const memory = isLinear(version)
      ? weightMemoryIn(headers, version.dimension)
      : varianceOf(record)
    return { key, vector: factors ?? decodeFactors(value, version.dimension), ratings, memory }
  })
  for await (const page of pages) yield* page
}

/** Outcome of an import. */
export type ImportOutcome =
  | { readonly kind: 'imported'; readonly version: RegisteredVersion; readonly rows: number }
  /** A version of the same inputs exists. */
  | { readonly kind: 'exists'; readonly version: RegisteredVersion }

/**
 * Publishes the version of a model file as a candidate and registers it. It keeps its id and lineage,
 * gets the next free number, and starts without checks and history. Throws MALFORMED_DATA,
 * CHECKSUM_MISMATCH.
 */
export async function importVersion(
  topics: TopicStore,
  registry: ModelRegistry,
  {
    file,
    model,
    ...publication
  }: { readonly file: string; readonly model: string } & Pick<
    PublishOptions,
    'clock' | 'maxKeyBytes' | 'onWarning'
  >,
): Promise<ImportOutcome> {
  const opened = await openModelFile(file)
  const { version: exported, marker } = opened.header as unknown as ExportHeader
  if (exported?.id === undefined || marker?.dimension === undefined) {
    throw new WeirError('MALFORMED_DATA', `${file} was not written by "weir model export"`)
  }
  const known = versionsOf(await registry.read(), model)
  const same = known.find((each) => each.state !== 'retired' && areOfSameInputs(each, exported))
  if (same !== undefined) return { kind: 'exists', version: same }
  const rows = {
    dimension: marker.dimension,
    users: marker.users,
    items: marker.items,
    rows: () => publishableRows(opened),
  }
  if (await topics.has(model)) {
    const { clock, onWarning } = publication
    await collectBefore(topics, { registry, model, clock, onWarning })
  }
  const number = await publishModel(rows, {
    log: topics,
    topic: model,
    after: known.at(-1)?.number ?? 0,
    facts: importedFacts(marker),
    ...publication,
  })
  const nowMs = publication.clock.nowMs()
  const text = `imported; it was version ${exported.number} of ${exported.name}`
  const version: RegisteredVersion = {
    ...exported,
    biased: marker.biased,
    name: model,
    topic: model,
    number,
    state: 'candidate',
    lineage: importedLineage(exported.lineage),
    checks: [],
    notes: [{ atMs: nowMs, event: 'registered', text }],
  }
  await registry.require({ kind: 'register', version })
  return { kind: 'imported', version, rows: opened.header.rows }
}

/** The lineage of an imported version: ranges of an earlier build, which have no id, are of a topic that is not known. */
function importedLineage({ ranges, replayed, ...lineage }: VersionLineage): VersionLineage {
  const elsewhere = (range: DataRange): DataRange => ({ topicId: '', ...range })
  return {
    ...lineage,
    ranges: ranges.map(elsewhere),
    ...(replayed === undefined ? {} : { replayed: replayed.map(elsewhere) }),
  }
}

/** The metadata of an imported version: what was written back to it has offsets of other topics. */
function importedFacts(marker: ModelVersionMarker): VersionMetadata {
  const { event: _, version: __, dimension: ___, users: ____, items: _____, ...rest } = marker
  const { learned: ______, registered: _______, ...facts } = rest
  // The process that retrained it registers nothing here.
  const { [RETRAINING]: ________, ...hyperparameters } = marker.hyperparameters
  return { ...facts, hyperparameters: { ...hyperparameters, [CANDIDATE]: true } }
}
