import { describe, expect, it } from 'vitest'
import {
  parseIntervals,
  parseKeys,
  parseTrace,
} from '../../../../src/testing/load/keys/key-lines.ts'

describe('parseKeys', () => {
  it('takes keys and pairs, and the first columns of ratings', () => {
    const pairs = [
      { user: '1', item: '2' },
      { user: '3', item: '4' },
    ]
    for (const text of [
      '1,2\n3,4\n',
      'userId,movieId,rating\n1,2,5\n3,4,1',
      '1\t2\t5\t881250949\r\n3\t4\t1\t881250949\r\n',
      '1::2::5::9\n3::4::1::9',
      '# two\n\n1 2\n3;4',
    ]) {
      expect(parseKeys(text)).toEqual(pairs)
    }
    expect(parseKeys('42-U')).toEqual([{ user: '42-U', item: '' }])
  })

  it('refuses a file without keys, and says where a line is wrong', () => {
    expect(() => parseKeys('\n# nothing\n')).toThrow('no keys')
    expect(() => parseKeys('1,2\n,3')).toThrow('line 2: the key is empty')
  })
})

describe('parseTrace', () => {
  it('takes times and keys', () => {
    const { offsetsMs, pairs } = parseTrace('ms,user,item\n0,1,2\n0.5,3,4\n7,key')
    expect([...offsetsMs]).toEqual([0, 0.5, 7])
    expect(pairs).toEqual([
      { user: '1', item: '2' },
      { user: '3', item: '4' },
      { user: 'key', item: '' },
    ])
  })

  it.each([
    ['1,1,2\n0.5,1,2', 'line 2: 0.5 ms is before the line above'],
    ['0,1,2\nx,1,2', 'line 2: "x" is not a number'],
    ['0', 'line 1: the key is empty'],
    ['', 'no requests'],
  ])('refuses %j', (text, message) => {
    expect(() => parseTrace(text)).toThrow(message)
  })
})

describe('parseIntervals', () => {
  it('takes microseconds, and refuses what would never let time pass', () => {
    expect([...parseIntervals('100\n0\n 20.5\n')]).toEqual([100, 0, 20.5])
    expect(() => parseIntervals('0\n0')).toThrow('no interval above 0')
    expect(() => parseIntervals('5\n-1')).toThrow('line 2: "-1" is not a number from 0')
  })
})
