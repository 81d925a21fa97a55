import { WeirError } from '../core/errors.ts'
import { classesOf, classParameters } from '../core/features/classes.ts'
import { hashingOf, hashingParameters } from '../core/features/hashing.ts'
import { MAX_MAX_PARALLELISM } from '../core/key-group.ts'
import { ANSWER, type FrameReader, HEADER_BYTES, KIND } from './frame.ts'
import type { FrameWriter } from './frame-writer.ts'
import {
  decodeGeneral,
  encodeGeneral,
  type GeneralMap,
  type GeneralValue,
  mapsField,
  numberField,
  textField,
} from './general-envelope.ts'

/** Address of one query thread. */
export interface QueryEndpoint {
  /** Name of the query server. */
  readonly server: string
  /** Empty: the host of the bootstrap port, as the client reached it. */
  readonly host: string
  readonly port: number
}

/** Kind of an entry that is a model of any kind: INFER asks it. */
export const MODEL_KIND = 'model'

/** What the predictions of a version of a linear model need: its labels, and as hyperparameters its hash and its classes. */
export interface VersionLabels {
  readonly version: number
  readonly positive: number
  readonly negative: number
  readonly hashBits?: number
  /** As `FeatureHashing.crosses`. @default none */
  readonly crosses?: string
  /** Of a model of several classes (`classesOf`): it has no positive label then. */
  readonly classes?: string
  readonly classFeatures?: number
  readonly classStride?: number
}

/** How a version of implicit feedback was trained, from which the row of a user without one follows. */
export interface VersionTerms {
  readonly version: number
  /** An event of value r has the confidence 1 + alpha |r|. */
  readonly alpha: number
  /** Lambda. */
  readonly regularization: number
  /** How lambda grows with the n events of a row: `n`, `sqrt-n` or `constant`. */
  readonly penalty: string
  /** Sum of y y^T over the rows y of all items: base64 of little-endian float32, the lower triangle by rows. */
  readonly gram: string
}

/** A state that clients can query by name. */
export interface QueryableStateInfo {
  readonly name: string
  /** `vector` for rows, `model` for a model of any kind, otherwise the kind of the typed state. */
  readonly kind: string
  /** Floats per row; 0 for typed state. */
  readonly dimension: number
  /** Loaded model versions, ascending; empty for typed state. */
  readonly versions: readonly number[]
  /** Version that requests without one read; 0 while none is live. */
  readonly liveVersion: number
  /** What its keys are, where an operator of Weir makes them: starts of windows, or tuples of a key and a start. */
  readonly keys?: 'window' | 'key-and-window'
  /** Id of the serializer of its keys; missing for rows, and in tables of earlier builds, as the two below. */
  readonly keyFormat?: string
  /** Id of the serializer of its values, elements or accumulators. */
  readonly valueFormat?: string
  /** Of map state: id of the serializer of the keys of its maps. */
  readonly mapKeyFormat?: string
  /**
   * In a job of many processes: key groups of its keys, which the job partitions share (`keyGroupRangeOf`); 1 where job
   * partition 0 has all keys.
   */
  readonly keyGroups?: number
  /** Of a linear model: the labels of its loaded versions; missing for other states, and in tables of earlier builds. */
  readonly labels?: readonly VersionLabels[]
  /** Of a model of implicit feedback: the terms of its loaded versions, where they are known; missing for other states. */
  readonly terms?: readonly VersionTerms[]
}

/** A source of a job, which positions name by its number. */
export interface SourceInfo {
  readonly number: number
  /** The uid of the source's operator. */
  readonly uid: string
  /** Whether requests with at-least may name its positions. */
  readonly tracked: boolean
  /** Name of the topic that it reads; missing for a source of no topic, and in tables of earlier builds. */
  readonly topic?: string
}

/** Who answers for the keys of a job in many processes. */
export interface KeyShares {
  /** Job partitions. */
  readonly partitions: number
  /** By job partition, the place of its owner in `endpoints`; -1 while it has none. */
  readonly owners: readonly number[]
}

/** Query threads, states and sources of a job. Each change has a new epoch. */
export interface RoutingTable {
  readonly epoch: number
  readonly job: string
  readonly endpoints: readonly QueryEndpoint[]
  readonly states: readonly QueryableStateInfo[]
  /** Empty also when the server does not list them. */
  readonly sources: readonly SourceInfo[]
  /** Of a job in many processes: an endpoint answers only for the job partitions that it owns. */
  readonly shares?: KeyShares
}

/** Appends the answer to a routing request. */
export function writeRouting(writer: FrameWriter, requestId: number, table: RoutingTable): void {
  writer.begin(KIND.routing + ANSWER, 0, requestId)
  writer.raw(
    encodeGeneral({
      epoch: table.epoch,
      job: table.job,
      endpoints: table.endpoints.map(({ server, host, port }) => ({ server, host, port })),
      states: table.states.map(
        ({
          name,
          kind,
          dimension,
          versions,
          liveVersion,
          labels,
          terms,
          keyGroups,
          ...formats
        }) => ({
          name,
          kind,
          dimension,
          versions: [...versions],
          liveVersion,
          ...formatsOf(formats),
          ...(keyGroups === undefined ? {} : { keyGroups }),
          ...(labels === undefined ? {} : { labels: labels.map((one) => ({ ...one })) }),
          ...(terms === undefined ? {} : { terms: terms.map((one) => ({ ...one })) }),
        }),
      ),
      ...(table.sources.length === 0
        ? {}
        : { sources: table.sources.map((source) => ({ ...source })) }),
      ...(table.shares === undefined ? {} : { shares: encodeShares(table.shares) }),
    }),
  )
  writer.end(1)
}

/** Reads a routing table. Throws PROTOCOL_ERROR. */
export function readRouting(frame: FrameReader): RoutingTable {
  const envelope = decodeGeneral(frame.bytes, frame.start + HEADER_BYTES, frame.end)
  return {
    epoch: numberField(envelope, 'epoch'),
    job: textField(envelope, 'job'),
    endpoints: mapsField(envelope, 'endpoints').map((item) => ({
      server: textField(item, 'server'),
      host: textField(item, 'host'),
      port: numberField(item, 'port'),
    })),
    states: mapsField(envelope, 'states').map(stateOf),
    sources: envelope['sources'] === undefined ? [] : mapsField(envelope, 'sources').map(sourceOf),
    ...(envelope['shares'] === undefined ? {} : { shares: sharesOf(envelope) }),
  }
}

/** Neighbours with one owner are one range: `[first partition, last partition, place of the endpoint]`. */
function encodeShares({ partitions, owners }: KeyShares): GeneralMap {
  const ranges: [number, number, number][] = []
  owners.forEach((owner, partition) => {
    const last = ranges.at(-1)
    if (last !== undefined && last[2] === owner && last[1] === partition - 1) last[1] = partition
    else if (owner >= 0) ranges.push([partition, partition, owner])
  })
  return { partitions, ranges }
}

/** Throws PROTOCOL_ERROR for partitions and endpoints that do not exist. */
function sharesOf(envelope: GeneralMap): KeyShares {
  const shares = envelope['shares']
  if (typeof shares !== 'object' || shares === null || Array.isArray(shares)) {
    throw malformedShares()
  }
  const { partitions, ranges } = shares as GeneralMap
  const endpoints = mapsField(envelope, 'endpoints').length
  if (typeof partitions !== 'number' || !isWithin(partitions, 1, MAX_MAX_PARALLELISM)) {
    throw malformedShares()
  }
  if (!Array.isArray(ranges)) throw malformedShares()
  const owners = new Array<number>(partitions).fill(-1)
  for (const range of ranges as readonly GeneralValue[]) {
    const [first, last, owner] = Array.isArray(range) ? (range as readonly GeneralValue[]) : []
    if (typeof first !== 'number' || typeof last !== 'number' || typeof owner !== 'number') {
      throw malformedShares()
    }
    const isRange = isWithin(first, 0, last) && isWithin(last, first, partitions - 1)
    if (!isRange || !isWithin(owner, 0, endpoints - 1)) throw malformedShares()
    owners.fill(owner, first, last + 1)
  }
  return { partitions, owners }
}

function isWithin(number: number, least: number, most: number): boolean {
  return Number.isInteger(number) && number >= least && number <= most
}

function malformedShares(): WeirError {
  return new WeirError('PROTOCOL_ERROR', 'the shares of a routing table are malformed')
}

type StateFormats = Pick<QueryableStateInfo, 'keys' | 'keyFormat' | 'valueFormat' | 'mapKeyFormat'>

/** The formats that are known. */
function formatsOf(item: GeneralMap | StateFormats): StateFormats {
  const { keys, keyFormat, valueFormat, mapKeyFormat } = item as GeneralMap
  return {
    ...(keys === 'window' || keys === 'key-and-window' ? { keys } : {}),
    ...(typeof keyFormat === 'string' ? { keyFormat } : {}),
    ...(typeof valueFormat === 'string' ? { valueFormat } : {}),
    ...(typeof mapKeyFormat === 'string' ? { mapKeyFormat } : {}),
  }
}

function stateOf(item: GeneralMap): QueryableStateInfo {
  const versions = item['versions']
  return {
    name: textField(item, 'name'),
    kind: textField(item, 'kind'),
    dimension: numberField(item, 'dimension'),
    versions: Array.isArray(versions) ? versions.filter((v) => typeof v === 'number') : [],
    liveVersion: numberField(item, 'liveVersion'),
    ...formatsOf(item),
    ...(typeof item['keyGroups'] === 'number' ? { keyGroups: item['keyGroups'] } : {}),
    ...(item['labels'] === undefined ? {} : { labels: mapsField(item, 'labels').map(labelsOf) }),
    ...(item['terms'] === undefined ? {} : { terms: mapsField(item, 'terms').map(termsOf) }),
  }
}

function termsOf(item: GeneralMap): VersionTerms {
  return {
    version: numberField(item, 'version'),
    alpha: numberField(item, 'alpha'),
    regularization: numberField(item, 'regularization'),
    penalty: textField(item, 'penalty'),
    gram: textField(item, 'gram'),
  }
}

function labelsOf(item: GeneralMap): VersionLabels {
  return {
    version: numberField(item, 'version'),
    positive: numberField(item, 'positive'),
    negative: numberField(item, 'negative'),
    ...hashingParameters(hashingOf(item)),
    ...classParameters(classesOf(item)),
  }
}

function sourceOf(item: GeneralMap): SourceInfo {
  return {
    number: numberField(item, 'number'),
    uid: textField(item, 'uid'),
    tracked: item['tracked'] === true,
    ...(typeof item['topic'] === 'string' ? { topic: item['topic'] } : {}),
  }
}
