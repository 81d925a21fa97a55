import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type * as Library from '@platformatic/kafka'

const require = createRequire(import.meta.url)

/**
 * Loads parts of the client library: its connection, requests and answers. The index of the package
 * also loads its consumer, producer, admin client and schema registries, which takes a third of the CPU
 * time of loading it, in every thread. So each part is loaded by its path.
 */
function load(...parts: readonly string[]): typeof Library {
  const index = require.resolve('@platformatic/kafka')
  const loaded = parts.map((part) => require(join(dirname(index), part)) as Partial<typeof Library>)
  return Object.assign({}, ...loaded) as typeof Library
}

interface LibraryError {
  readonly id: string
  readonly code: number
  readonly canRetry: boolean
  readonly message: string
}

/**
 * Gives every error number a name. For one of a later Kafka the library throws a TypeError in place of the answer,
 * which then has neither number nor name.
 */
function nameLaterErrors(): void {
  const path = require.resolve('@platformatic/kafka')
  const errors = require(join(dirname(path), 'protocol/errors.js')) as {
    readonly protocolErrors: Readonly<Record<string, LibraryError>>
    readonly protocolErrorsCodesById: Readonly<Record<number, string>>
  }
  const nameOf = (key: string | symbol): string | undefined =>
    typeof key === 'string' && /^-?\d+$/.test(key) ? key : undefined
  const errorOf = (id: string | undefined): LibraryError | undefined =>
    id === undefined ? undefined : { id, code: Number(id), canRetry: false, message: `error ${id}` }
  // Behind the tables: only what they do not have is asked for here.
  Object.setPrototypeOf(
    errors.protocolErrorsCodesById,
    new Proxy({}, { get: (_, key) => nameOf(key) }),
  )
  Object.setPrototypeOf(
    errors.protocolErrors,
    new Proxy({}, { get: (_, key) => errorOf(nameOf(key)) }),
  )
}

nameLaterErrors()

export const {
  Connection,
  ResponseError,
  Writer,
  addOffsetsToTxnV3,
  addPartitionsToTxnV3,
  apiVersionsV0,
  createAPI,
  createTopicsV7,
  deleteRecordsV2,
  deleteTopicsV6,
  describeConfigsV4,
  describeTransactionsV0,
  endTxnV3,
  findCoordinatorV4,
  heartbeatV4,
  initProducerIdV4,
  joinGroupV9,
  leaveGroupV5,
  listOffsetsV7,
  listTransactionsV0,
  metadataV12,
  offsetForLeaderEpochV4,
  offsetCommitV8,
  offsetFetchV8,
  produceV9,
  syncGroupV5,
  txnOffsetCommitV3,
} = load('network/connection.js', 'apis/index.js', 'errors.js', 'protocol/writer.js')

export type Connection = Library.Connection
export type Writer = Library.Writer
