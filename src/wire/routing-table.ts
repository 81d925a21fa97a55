import {
  type ColdMap,
  decodeCold,
  encodeCold,
  mapsField,
  numberField,
  textField,
} from './cold-envelope.ts'
import { ANSWER, type FrameReader, HEADER_BYTES, KIND } from './frame.ts'
import type { FrameWriter } from './frame-writer.ts'

/** Where one query thread listens. */
export interface QueryEndpoint {
  /** Name of the query server. */
  readonly server: string
  /** Empty when it is the host that the client reached the bootstrap port on. */
  readonly host: string
  readonly port: number
}

/** A state that clients may name. */
export interface QueryableStateInfo {
  readonly name: string
  /** `vector` for rows, otherwise the kind of the typed state. */
  readonly kind: string
  /** Floats per row; 0 for typed state. */
  readonly dimension: number
  /** Loaded model versions, ascending; empty for typed state. */
  readonly versions: readonly number[]
  /** Version that requests without one read; 0 while none is live. */
  readonly liveVersion: number
}

/** What a client needs to know to ask; it changes with its epoch. */
export interface RoutingTable {
  readonly epoch: number
  readonly job: string
  readonly endpoints: readonly QueryEndpoint[]
  readonly states: readonly QueryableStateInfo[]
}

/** Appends the answer to a routing request. */
export function writeRouting(writer: FrameWriter, requestId: number, table: RoutingTable): void {
  writer.begin(KIND.routing + ANSWER, 0, requestId)
  writer.raw(
    encodeCold({
      epoch: table.epoch,
      job: table.job,
      endpoints: table.endpoints.map(({ server, host, port }) => ({ server, host, port })),
      states: table.states.map(({ name, kind, dimension, versions, liveVersion }) => ({
        name,
        kind,
        dimension,
        versions: [...versions],
        liveVersion,
      })),
    }),
  )
  writer.end(1)
}

/** Reads a routing table. Throws PROTOCOL_ERROR. */
export function readRouting(frame: FrameReader): RoutingTable {
  const envelope = decodeCold(frame.bytes, frame.start + HEADER_BYTES, frame.end)
  return {
    epoch: numberField(envelope, 'epoch'),
    job: textField(envelope, 'job'),
    endpoints: mapsField(envelope, 'endpoints').map((item) => ({
      server: textField(item, 'server'),
      host: textField(item, 'host'),
      port: numberField(item, 'port'),
    })),
    states: mapsField(envelope, 'states').map(stateOf),
  }
}

function stateOf(item: ColdMap): QueryableStateInfo {
  const versions = item['versions']
  return {
    name: textField(item, 'name'),
    kind: textField(item, 'kind'),
    dimension: numberField(item, 'dimension'),
    versions: Array.isArray(versions) ? versions.filter((v) => typeof v === 'number') : [],
    liveVersion: numberField(item, 'liveVersion'),
  }
}
