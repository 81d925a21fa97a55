import { describe, expect, it } from 'vitest'
import {
  decodeAssignment,
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
} from '../../../../src/connectors/kafka/group/envelope.ts'
import { isWeirError } from '../../../../src/core/errors.ts'

const hex = (text: string): Uint8Array => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')
const inHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** Written by hand from the field lists in Kafka's ConsumerProtocolSubscription.json and ConsumerProtocolAssignment.json. */
const SUBSCRIPTION = hex(`
  0001
  00000002 0002 6162 0001 63
  00000003 010203
  00000001 0002 6162 00000002 00000000 00000007`)
const ASSIGNMENT = hex(`
  0001
  00000002 0002 6162 00000002 00000000 00000007 0001 63 00000000
  00000002 ff00`)

const subscription = {
  topics: ['ab', 'c'],
  userData: hex('010203'),
  ownedPartitions: new Map([['ab', [0, 7]]]),
}
const assignment = {
  topicPartitions: new Map<string, readonly number[]>([
    ['ab', [0, 7]],
    ['c', []],
  ]),
  userData: hex('ff00'),
}

function codeOf(action: () => unknown): string {
  try {
    action()
    return 'no error'
  } catch (error) {
    return isWeirError(error) ? error.code : String(error)
  }
}

describe("the envelope of Kafka's consumers", () => {
  it('has the bytes of the documented format', () => {
    expect(inHex(encodeSubscription(subscription))).toBe(inHex(SUBSCRIPTION))
    expect(inHex(encodeAssignment(assignment))).toBe(inHex(ASSIGNMENT))
  })

  it('is read from the bytes of the documented format', () => {
    const read = decodeSubscription(SUBSCRIPTION, 'm')
    expect(read).toEqual({ ...subscription, userData: Uint8Array.from(subscription.userData) })
    expect(decodeAssignment(ASSIGNMENT, 'm')).toEqual({
      ...assignment,
      userData: Uint8Array.from(assignment.userData),
    })
  })

  it('is read in the versions before and after the one that is written', () => {
    const version0 = hex('0000 00000001 0001 61 ffffffff')
    expect(decodeSubscription(version0, 'm')).toEqual({
      topics: ['a'],
      userData: new Uint8Array(0),
      ownedPartitions: new Map(),
    })
    // Version 3: a generation and a rack follow.
    const version3 = Buffer.concat([hex('0003'), SUBSCRIPTION.subarray(2), hex('00000005 0001 72')])
    expect(decodeSubscription(version3, 'm').userData).toEqual(Uint8Array.from([1, 2, 3]))
    const later = Buffer.concat([hex('0009'), ASSIGNMENT.subarray(2), hex('77')])
    expect(decodeAssignment(later, 'm').topicPartitions).toEqual(assignment.topicPartitions)
  })

  it('of no bytes is an assignment of nothing, and no subscription', () => {
    const nothing = { topicPartitions: new Map(), userData: new Uint8Array(0) }
    expect(decodeAssignment(new Uint8Array(0), 'm')).toEqual(nothing)
    expect(codeOf(() => decodeSubscription(new Uint8Array(0), 'm'))).toBe('MALFORMED_DATA')
  })

  it('that is cut at any byte is refused', () => {
    for (let length = 1; length < SUBSCRIPTION.length; length++) {
      const cut = SUBSCRIPTION.subarray(0, length)
      expect(
        codeOf(() => decodeSubscription(cut, 'm')),
        `${length}`,
      ).toBe('MALFORMED_DATA')
    }
    for (let length = 1; length < ASSIGNMENT.length; length++) {
      const cut = ASSIGNMENT.subarray(0, length)
      expect(
        codeOf(() => decodeAssignment(cut, 'm')),
        `${length}`,
      ).toBe('MALFORMED_DATA')
    }
  })

  it.each([
    [
      'a count of elements that do not follow',
      '0001 7fffffff 0001 61',
      'claims 2147483647 elements',
    ],
    ['a negative count', '0001 fffffffe 0001 61', 'claims -2 elements'],
    ['a negative length of a topic', '0001 00000001 ffff 61 00000000', 'claims -1 bytes'],
    ['user data that do not follow', '0001 00000000 7fffffff 01', 'claims 2147483647 bytes'],
    ['a negative length of user data', '0001 00000000 fffffffe 01', 'claims -2 bytes'],
    ['a negative version', 'ffff 00000000 00000000', 'version -1 does not exist'],
    ['bytes after the end', '0001 00000000 00000000 00000000 00', '1 bytes follow its end'],
    ['a topic that is no text', '0001 00000001 0002 c328 00000000 00000000', 'encoded data'],
    [
      'a topic twice',
      '0001 00000000 00000000 00000002 0001 61 00000000 0001 61 00000000',
      'it has the topic "a" twice',
    ],
    [
      'a negative partition',
      '0001 00000000 00000000 00000001 0001 61 00000001 ffffffff',
      '-1 is not a partition',
    ],
  ])('with %s is refused, and the sentence names the sender', (_, bytes, why) => {
    const read = (): unknown => decodeSubscription(hex(bytes), 'member x-1')
    expect(codeOf(read)).toBe('MALFORMED_DATA')
    expect(read).toThrow(
      /^the subscription of member x-1 is not in the format of Kafka's consumers/,
    )
    expect(read).toThrow(why)
  })

  it('keeps user data apart from the answer that they came in', () => {
    const bytes = Uint8Array.from(SUBSCRIPTION)
    const { userData } = decodeSubscription(bytes, 'm')
    bytes.fill(0)
    expect([...userData]).toEqual([1, 2, 3])
  })
})
