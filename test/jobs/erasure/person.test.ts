import { describe, expect, it } from 'vitest'
import { Person } from '../../../src/jobs/erasure/person.ts'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

function recordOf(key: string | null, value: string | null) {
  const keyBytes = key === null ? null : encode(key)
  const valueBytes = value === null ? null : encode(value)
  return {
    bytes: new Uint8Array(0),
    ...{ keyStart: 0, keyLength: keyBytes?.length ?? -1 },
    ...{ valueStart: 0, valueLength: valueBytes?.length ?? -1 },
    ...{ timestamp: 1, offset: 0 },
    key: () => keyBytes,
    value: () => valueBytes,
    headers: () => [],
    header: () => undefined,
  }
}

describe('ratings of a person', () => {
  const person = new Person('405')

  it.each([
    '405,7,4',
    '405,7,4,978300760',
    ' 405 , 7, 4',
    '"405",7,4',
    '405\t7\t4',
    '405::7::4',
    '405;7;4',
    '405,no rating at all',
    '405,"a quote that does not end',
    '\ufeff405,7,4',
  ])('are those whose first field is the id: %s', (line) => {
    expect(person.hasRated(recordOf(null, line))).toBe(true)
  })

  it.each(['7,405,4', '4050,7,4', '1405,7,4', '405-a,7,4', 'x405,7,4', '405', '', '4,05,1'])(
    'are not others that hold its characters: %s',
    (line) => {
      expect(person.hasRated(recordOf('405', line))).toBe(false)
    },
  )

  it('are none without a value: under its key such a record forgets the person', () => {
    expect(person.hasRated(recordOf('405', null))).toBe(false)
    expect(person.isForgottenIn(recordOf('405', null))).toBe(true)
    for (const [key, value] of [
      ['406', null],
      ['405', '405,7,4'],
      [null, null],
    ] as const) {
      expect(person.isForgottenIn(recordOf(key, value))).toBe(false)
    }
  })

  it('may have an id with a separator, or one that a pattern would read otherwise', () => {
    expect(new Person('a,b').hasRated(recordOf(null, '"a,b",7,4'))).toBe(true)
    expect(new Person('a.b').hasRated(recordOf(null, 'axb,7,4'))).toBe(false)
  })
})

it('a record names a person where its text says so, and not where it says a longer id', () => {
  const person = new Person('40.5')
  for (const text of ['1 user=40.5 age:3', '{"userId": "40.5"}', "-1 user_id='40.5'"]) {
    expect(person.names(recordOf(null, text)), text).toBe(true)
  }
  for (const text of ['1 user=40.51', '1 user=40x5', '1 item=40.5', 'user 40.5']) {
    expect(person.names(recordOf(null, text)), text).toBe(false)
  }
  expect(person.names(recordOf('user=40.5', null))).toBe(false)
})

describe('rows of a person', () => {
  const person = new Person('405')

  it('have its key, with or without a version, or are text', () => {
    expect(person.rowIn(recordOf('405-U@3', 'floats'))).toEqual({
      ...{ key: '405-U@3', version: 3, isTombstone: false },
    })
    expect(person.rowIn(recordOf('405-U', null))).toMatchObject({ version: 1, isTombstone: true })
    expect(person.rowIn(recordOf(null, '405,U,0.1;0.2'))).toMatchObject({ key: '405-U' })
  })

  it('are not those of an item or of another user', () => {
    for (const [key, value] of [
      ['405-I@3', 'floats'],
      ['1405-U', 'floats'],
      ['!version@1', '405,U'],
      [null, '405,I,0.1'],
    ] as const) {
      expect(person.rowIn(recordOf(key, value))).toBeUndefined()
    }
  })

  it('of the mean are refused', () => {
    expect(() => new Person('MEAN')).toThrow(/MEAN/)
  })
})
