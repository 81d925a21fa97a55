import { describe, expect, it } from 'vitest'
import { checkVersions } from '../../../../src/connectors/kafka/client/versions.ts'

describe('a broker', () => {
  /** The requests of a current Kafka, with one changed. */
  const offers = (apiKey: number, maxVersion: number | undefined) =>
    Array.from({ length: 80 }, (_, key) => ({ apiKey: key, maxVersion: 17 })).flatMap((offer) =>
      offer.apiKey !== apiKey ? [offer] : maxVersion === undefined ? [] : [{ apiKey, maxVersion }],
    )

  it('that offers every request is accepted', () => {
    expect(() => checkVersions('b:1', offers(1, 13))).not.toThrow()
  })

  it.each([
    [1, 12, 'Kafka at b:1 is too old: it offers Fetch only up to version 12, version 13 is needed'],
    [66, undefined, 'it offers no ListTransactions requests'],
  ])('that is too old for request %i is refused with what to do', (apiKey, version, message) => {
    expect(() => checkVersions('b:1', offers(apiKey, version))).toThrow(message)
    expect(() => checkVersions('b:1', offers(apiKey, version))).toThrow(/upgrade the broker/)
  })
})
