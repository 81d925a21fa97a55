import { classesOf, classParameters } from '../core/features/classes.ts'
import { hashingOf, hashingParameters } from '../core/features/hashing.ts'
import { ANSWER, type FrameReader, HEADER_BYTES, KIND } from './frame.ts'
import type { FrameWriter } from './frame-writer.ts'
import {
  decodeGeneral,
  encodeGeneral,
  type GeneralMap,
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

/** Query threads, states and sources of a job. Each change has a new epoch. */
export interface RoutingTable {
  readonly epoch: number
  readonly job: string
  readonly endpoints: readonly QueryEndpoint[]
  readonly states: readonly QueryableStateInfo[]
  /** Empty also when the server does not list them. */
  readonly sources: readonly SourceInfo[]
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
        ({ name, kind, dimension, versions, liveVersion, labels, terms, ...formats }) => ({
          name,
          kind,
          dimension,
          versions: [...versions],
          liveVersion,
          ...formatsOf(formats),
          ...(labels === undefined ? {} : { labels: labels.map((one) => ({ ...one })) }),
          ...(terms === undefined ? {} : { terms: terms.map((one) => ({ ...one })) }),
        }),
      ),
      ...(table.sources.length === 0
        ? {}
        : { sources: table.sources.map((source) => ({ ...source })) }),
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
  }
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
