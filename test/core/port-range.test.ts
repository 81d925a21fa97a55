import { describe, expect, it } from 'vitest'
import { parsePortRange, portsOfThread } from '../../src/core/port-range.ts'

describe('parsePortRange', () => {
  it('reads one port and a range', () => {
    expect(parsePortRange('9070')).toEqual({ first: 9070, last: 9070 })
    expect(parsePortRange(' 9070 - 9079 ')).toEqual({ first: 9070, last: 9079 })
  })

  it.each(['', '0', 'all', '9079-9070', '1-65536', '9070,9071', '-9070'])(
    'refuses "%s"',
    (text) => {
      expect(() => parsePortRange(text)).toThrow(
        expect.objectContaining({
          code: 'INVALID_ARGUMENT',
          message: expect.stringContaining('9070-9079'),
        }),
      )
    },
  )
})

describe('portsOfThread', () => {
  it('shares out every port once', () => {
    const range = { first: 9070, last: 9076 }
    const shares = [0, 1, 2].map((thread) => portsOfThread(range, thread, 3))
    expect(shares).toEqual([
      [9070, 9073, 9076],
      [9071, 9074],
      [9072, 9075],
    ])
  })

  it('refuses fewer ports than threads', () => {
    expect(() => portsOfThread({ first: 1, last: 2 }, 0, 3)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  })
})
