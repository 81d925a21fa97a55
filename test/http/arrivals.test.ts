import { expect, it } from 'vitest'
import { Arrivals } from '../../src/http/arrivals.ts'

/** Arrivals whose turns and time a test moves on. */
function world() {
  let nowMs = 0
  let next: (() => void) | undefined
  const begun: string[] = []
  const arrivals = new Arrivals(
    () => nowMs,
    (turn) => {
      next = turn
    },
  )
  return {
    begun,
    /** A connection of a client that has sent so many bytes. */
    add(client: string, name: string, bytes = 0, isTls = false) {
      const arrival = { destroyed: false, readableLength: bytes }
      arrivals.add(client, arrival, () => begun.push(name), isTls)
      return arrival
    },
    /** A turn of the event loop, some ms later. */
    turn(ms = 1) {
      nowMs += ms
      const turn = next
      next = undefined
      turn?.()
    },
    hasTurn: () => next !== undefined,
  }
}

it('a connection that comes alone begins at once, and leaves no turn behind', () => {
  const { begun, add, turn, hasTurn } = world()
  for (const name of ['a1', 'a2', 'a3']) {
    add('a', name)
    expect(begun.at(-1)).toBe(name)
    turn()
    turn()
    expect(hasTurn()).toBe(false)
  }
})

it('while more come in each turn none but the first begins, for 5 ms', () => {
  const { begun, add, turn } = world()
  for (let i = 0; i < 5; i++) {
    add('a', `a${i}`)
    turn()
  }
  expect(begun).toEqual(['a0', 'a1'])
  turn()
  expect(begun).toEqual(['a0', 'a1', 'a2'])
})

it('then one begins in each turn, one of each client after the other', () => {
  const { begun, add, turn } = world()
  for (let i = 0; i < 5; i++) add('a', `a${i}`)
  add('b', 'b0')
  add('c', 'c0')
  for (let i = 0; i < 8; i++) turn()
  expect(begun).toEqual(['a0', 'a1', 'b0', 'c0', 'a2', 'a3', 'a4'])
})

it('of one client those come first that have sent little, and none that has gone', () => {
  const { begun, add, turn } = world()
  add('a', 'first')
  const large = add('a', 'large', 65_536)
  add('a', 'larger', 65_536)
  const gone = add('a', 'gone')
  add('a', 'small', 300)
  const last = add('b', 'alone and gone')
  for (const arrival of [gone, last]) arrival.destroyed = true
  for (let i = 0; i < 8; i++) turn()
  expect(begun).toEqual(['first', 'small', 'large', 'larger'])
  expect(large.destroyed).toBe(false)
})

it('with TLS, of one client those come last that have sent less than a handshake begins with', () => {
  const { begun, add, turn } = world()
  add('a', 'first', 15, true)
  add('a', 'half', 15, true)
  add('a', 'large', 65_536, true)
  const late = add('a', 'half, then whole', 15, true)
  add('a', 'whole', 517, true)
  add('b', 'half of another', 15, true)
  turn()
  turn()
  late.readableLength = 517
  for (let i = 0; i < 8; i++) turn()
  const another = 'half of another'
  expect(begun).toEqual(['first', 'whole', another, 'half, then whole', 'large', 'half'])
})

it('without TLS a request may be shorter than a handshake', () => {
  const { begun, add, turn } = world()
  add('a', 'first')
  add('a', 'short', 27)
  add('a', 'whole', 517)
  for (let i = 0; i < 8; i++) turn()
  expect(begun).toEqual(['first', 'short', 'whole'])
})
