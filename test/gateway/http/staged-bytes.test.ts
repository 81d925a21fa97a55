import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { StagedBytes } from '../../../src/gateway/http/staged-bytes.ts'

const whole = (staged: StagedBytes): Buffer => Buffer.concat([...staged.parts()])

it('staged bytes are those of the chunks, however they are cut', () => {
  const staged = new StagedBytes()
  expect(whole(staged)).toHaveLength(0)
  const chunks = [1, 65_536, 262_144, 700_001, 0, 3].map((length, i) => Buffer.alloc(length, i + 1))
  for (const chunk of chunks) staged.add(chunk)
  expect(whole(staged).equals(Buffer.concat(chunks))).toBe(true)
})

it('after they are given back there are none, and the memory is used again', () => {
  const staged = new StagedBytes()
  staged.add(Buffer.alloc(300_000, 7))
  staged.release()
  expect(whole(staged)).toHaveLength(0)
  const next = new StagedBytes()
  next.add(Buffer.from('new'))
  expect(whole(next).toString()).toBe('new')
})

it('the memory of many goes to the system over several turns, and all of it', async () => {
  const staged = Array.from({ length: 100 }, () => new StagedBytes())
  for (const one of staged) one.add(Buffer.alloc(262_144, 7))
  const parts = staged.map((one) => [...one.parts()][0]!)
  for (const one of staged) one.release()
  const left = (): number => parts.filter(({ length }) => length > 0).length
  const seen = [left()]
  while (left() > 0) {
    await nextTurn()
    seen.push(left())
  }
  expect(seen[0]).toBe(100)
  expect(seen.length).toBeGreaterThan(3)
})
