import { expect, it } from 'vitest'
import { FairTurns } from '../../src/http/fair-turns.ts'
import { until } from '../run/until.ts'

/** Turns on a clock that only work moves on: each piece takes as many ms as its client says. */
function world() {
  let nowMs = 0
  const ran: string[] = []
  const turns = new FairTurns(() => nowMs)
  const work = (client: string, name: string, ms: number): void =>
    turns.run(client, ms > 5 ? 'large' : 'small', () => {
      nowMs += ms
      ran.push(name)
    })
  return { ran, work }
}

it('work runs at once while the turn has time, and one that is long lets the others wait for the next', async () => {
  const { ran, work } = world()
  work('a', 'a1', 2)
  work('a', 'a2', 50)
  work('a', 'a3', 1)
  expect(ran).toEqual(['a1', 'a2'])
  await until('the next turn has come', () => ran.length === 3, { everyMs: 0 })
})

it('clients have their turns one after the other, however much one of them sends', async () => {
  const { ran, work } = world()
  work('a', 'a0', 5)
  for (let i = 1; i <= 4; i++) work('a', `a${i}`, 5)
  work('b', 'b1', 1)
  work('b', 'b2', 1)
  await until('all have run', () => ran.length === 7, { everyMs: 0 })
  expect(ran).toEqual(['a0', 'a1', 'b1', 'a2', 'b2', 'a3', 'a4'])
})

it('small work of a client waits for one piece of its large work at most', async () => {
  const { ran, work } = world()
  for (let i = 0; i <= 4; i++) work('a', `large ${i}`, 50)
  work('a', 'small 1', 5)
  work('a', 'small 2', 5)
  await until('all have run', () => ran.length === 7, { everyMs: 0 })
  expect(ran).toEqual([
    ...['large 0', 'large 1', 'small 1', 'large 2', 'small 2', 'large 3', 'large 4'],
  ])
})

it('work that throws ends neither the others nor the turns', async () => {
  const { ran, work } = world()
  const turns = new FairTurns(() => 0)
  expect(() => turns.run('a', 'small', () => JSON.parse('{'))).toThrow(SyntaxError)
  turns.run('a', 'small', () => ran.push('after'))
  work('b', 'b1', 1)
  expect(ran).toEqual(['after', 'b1'])
})
