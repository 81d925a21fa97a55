import { expect, it } from 'vitest'
import { CorePlaces } from './core-places.ts'

/** Places of which four files want one; the numbers of those that have got it. */
async function places(most = 4) {
  const places = new CorePlaces(most)
  const started: number[] = []
  for (const file of [1, 2, 3, 4]) void places.take().then(() => started.push(file))
  const running = async (): Promise<readonly number[]> => {
    await new Promise((resolve) => setImmediate(resolve))
    return started
  }
  return { places, running }
}

it('two files run at a time, and the next one starts when one ends', async () => {
  const { places: two, running } = await places()
  expect(await running()).toEqual([1, 2])
  await two.giveBack()
  expect(await running()).toEqual([1, 2, 3])
})

it('while cores are idle, each look starts one more file, up to the limit', async () => {
  const { places: some, running } = await places(3)
  some.look(0.1)
  expect(await running()).toEqual([1, 2])
  some.look(0.5)
  expect(await running()).toEqual([1, 2, 3])
  some.look(0.5)
  expect(await running()).toEqual([1, 2, 3])
})

it('a file that ended beside two others has no successor until cores are idle', async () => {
  const { places: some, running } = await places()
  some.look(0.5)
  await some.giveBack()
  expect(await running()).toEqual([1, 2, 3])
  some.look(0.5)
  expect(await running()).toEqual([1, 2, 3, 4])
})

it('a look with no file that waits changes nothing', async () => {
  const empty = new CorePlaces(2)
  empty.look(1)
  empty.look(1)
  expect(await Promise.all([empty.take(), empty.take()])).toHaveLength(2)
})
