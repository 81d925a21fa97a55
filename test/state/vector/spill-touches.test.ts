import { expect, it } from 'vitest'
import { SpillTouches } from '../../../src/state/vector/spill-touches.ts'

it('reports that a row is asked for the second time, then forgets it', () => {
  const touches = new SpillTouches(4)
  expect([touches.again(77), touches.again(77), touches.again(77)]).toEqual([false, true, false])
})

it('forgets rows when many others are asked for', () => {
  const touches = new SpillTouches(4)
  touches.again(77)
  for (let hash = 1000; hash < 1400; hash++) touches.again(hash)
  expect(touches.again(77)).toBe(false)
})

it('takes four bytes for each row it tracks', () => {
  expect(new SpillTouches(10).bytes).toBe(4096)
})
