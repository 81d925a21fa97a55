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
  const [part] = staged.parts()
  staged.release()
  expect(part!.length).toBe(0)
  expect(whole(staged)).toHaveLength(0)
  const next = new StagedBytes()
  next.add(Buffer.from('new'))
  expect(whole(next).toString()).toBe('new')
})
