import { WeirError } from '../../../core/errors.ts'

/** A request that a broker offers, with its highest version. */
export interface OfferedVersion {
  readonly apiKey: number
  readonly maxVersion: number
}

/** The requests that the client sends, with their versions. Together they require Kafka 3.1. */
const REQUIRED: readonly RequiredVersion[] = [
  ['Produce', 0, 9],
  ['Fetch', 1, 13],
  ['ListOffsets', 2, 7],
  ['Metadata', 3, 12],
  ['OffsetCommit', 8, 8],
  ['OffsetFetch', 9, 8],
  ['FindCoordinator', 10, 4],
  ['CreateTopics', 19, 7],
  ['DeleteTopics', 20, 6],
  ['InitProducerId', 22, 4],
  ['OffsetForLeaderEpoch', 23, 4],
  ['AddPartitionsToTxn', 24, 3],
  ['EndTxn', 26, 3],
  ['DescribeConfigs', 32, 4],
  ['DescribeTransactions', 65, 0],
  ['ListTransactions', 66, 0],
]

/** Request of the protocol, by name and number, with the version that the client sends. */
export type RequiredVersion = readonly [name: string, apiKey: number, version: number]

/**
 * Checks that the broker at `address` offers every required version. Throws UNSUPPORTED. `release` is the first Kafka
 * that has them all.
 */
export function checkVersions(
  address: string,
  offered: readonly OfferedVersion[],
  required = REQUIRED,
  release = '3.1',
): void {
  const newest = new Map(offered.map(({ apiKey, maxVersion }) => [apiKey, maxVersion]))
  for (const [name, apiKey, version] of required) {
    const found = newest.get(apiKey)
    if (found !== undefined && found >= version) continue
    const offer =
      found === undefined ? `no ${name} requests` : `${name} only up to version ${found}`
    throw new WeirError(
      'UNSUPPORTED',
      `Kafka at ${address} is too old: it offers ${offer}, version ${version} is needed; Weir needs Kafka ${release} or later, upgrade the broker`,
      { details: { request: name, needed: version, offered: found ?? -1 } },
    )
  }
}
