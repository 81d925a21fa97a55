import { scanTopic } from '../connectors/topics/scan-topic.ts'
import type { TopicStore } from '../connectors/topics/topic-store.ts'
import type { Clock } from '../core/clock.ts'
import { WeirError } from '../core/errors.ts'
import { decodeFactors, keyLengthWithoutVersion, versionOfKeyBytes } from '../models/als-row.ts'
import type { ModelFileHeader, ModelFileRow } from '../models/model-file.ts'
import {
  decodeMarker,
  isMarkerKey,
  type ModelVersionMarker,
} from '../models/model-version-marker.ts'
import { CANDIDATE } from '../models/registry-adopt.ts'
import { type RegisteredVersion, versionsOf } from '../models/registry-version.ts'
import { openModelFile, publishableRows, writeModelFile } from './model-file-io.ts'
import type { ModelRegistry } from './model-registry.ts'
import { publishModel } from './publish-model.ts'
import { ratingsIn } from './row-ratings.ts'
import { readPages } from './topic-pages.ts'

/** Header of an exported file: what the registry knows, and the marker of the topic. */
interface ExportHeader extends ModelFileHeader {
  readonly version: RegisteredVersion
  readonly marker: ModelVersionMarker
}

const decoder = new TextDecoder()

/**
 * Writes a version's rows, as they were published, with its lineage into a model file; returns how many
 * rows. The topic is read twice, so that no rows but only their keys are in memory. Throws
 * UNKNOWN_VERSION when the topic does not hold it.
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
      `topic ${version.topic} holds no whole version ${version.number}`,
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

/** Where the last record of each row of the version lies. */
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
    if (bytes === null) return true
    if (isMarkerKey(bytes)) {
      const found = value === null ? undefined : decodeMarker(value)
      if (found?.version !== version.number) return true
      if (found.event === 'ready') marker = found
      if (found.event === 'retire') marker = undefined
      return true
    }
    const key = keyIn(bytes, version.number)
    if (key === undefined) return true
    if (value === null) places.delete(key)
    else places.set(key, `${partition}/${record.offset}`)
    return true
  })
  return { places, marker }
}

/** The row key of a record of the version, undefined for those of others. */
function keyIn(bytes: Uint8Array, version: number): string | undefined {
  const length = keyLengthWithoutVersion(bytes)
  if (versionOfKeyBytes(bytes, length) !== version) return undefined
  return decoder.decode(bytes.subarray(0, length))
}

/** The rows at the given places, a page at a time. */
async function* rowsAt(
  topics: TopicStore,
  version: RegisteredVersion,
  places: ReadonlyMap<string, string>,
): AsyncGenerator<ModelFileRow> {
  const pages = readPages<ModelFileRow>(topics, version.topic, (record, partition) => {
    const bytes = record.key()
    const value = record.value()
    if (bytes === null || value === null || isMarkerKey(bytes)) return undefined
    const key = keyIn(bytes, version.number)
    if (key === undefined || places.get(key) !== `${partition}/${record.offset}`) return undefined
    const ratings = ratingsIn(record.headers())
    return { key, vector: decodeFactors(value, version.dimension), ratings }
  })
  for await (const page of pages) yield* page
}

/** What an import did. */
export type ImportOutcome =
  | { readonly kind: 'imported'; readonly version: RegisteredVersion; readonly rows: number }
  /** A version of the same inputs is there. */
  | { readonly kind: 'exists'; readonly version: RegisteredVersion }

/**
 * Publishes the version of a model file as a candidate and registers it with the lineage that it had;
 * checks and history begin anew. Its id stays, its number is the next free one. Throws MALFORMED_DATA,
 * CHECKSUM_MISMATCH.
 */
export async function importVersion(
  topics: TopicStore,
  registry: ModelRegistry,
  { file, model, clock }: { readonly file: string; readonly model: string; readonly clock: Clock },
): Promise<ImportOutcome> {
  const opened = await openModelFile(file)
  const { version: exported, marker } = opened.header as unknown as ExportHeader
  if (exported?.id === undefined || marker?.dimension === undefined) {
    throw new WeirError('MALFORMED_DATA', `${file} was not written by "weir model export"`)
  }
  const known = versionsOf(await registry.read(), model)
  const same = known.find(
    ({ processingName, state }) =>
      processingName === exported.processingName && state !== 'retired',
  )
  if (same !== undefined) return { kind: 'exists', version: same }
  const number = (known.at(-1)?.number ?? 0) + 1
  const rows = {
    dimension: marker.dimension,
    users: marker.users,
    items: marker.items,
    rows: () => publishableRows(opened),
  }
  const { event: _, version: __, dimension: ___, users: ____, items: _____, ...facts } = marker
  const hyperparameters = { ...marker.hyperparameters, [CANDIDATE]: true }
  await publishModel(rows, {
    log: topics,
    topic: model,
    version: number,
    facts: { ...facts, hyperparameters },
    clock,
  })
  const nowMs = clock.nowMs()
  const text = `imported; it was version ${exported.number} of ${exported.name}`
  const version: RegisteredVersion = {
    ...exported,
    name: model,
    topic: model,
    number,
    state: 'candidate',
    checks: [],
    notes: [{ atMs: nowMs, event: 'registered', text }],
  }
  await registry.require({ kind: 'register', version })
  return { kind: 'imported', version, rows: opened.header.rows }
}
