import { describe, expect, it } from 'vitest'
import { parseBrokers } from '../../../../src/connectors/kafka/client/connection.ts'

describe('brokers', () => {
  it('are host and port, IPv6 in brackets', () => {
    expect(parseBrokers('a:1, [::1]:9092')).toEqual([
      { host: 'a', port: 1 },
      { host: '::1', port: 9092 },
    ])
  })

  it.each(['', 'a', 'a:', 'a:0', 'a:70000', '::1:9', 'a:1,'])('are not "%s"', (brokers) => {
    expect(() => parseBrokers(brokers)).toThrow(/write host:port/)
  })
})
