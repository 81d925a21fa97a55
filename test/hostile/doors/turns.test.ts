import { expect, test } from 'vitest'
import { type Turn, Turns } from './turns.ts'

/** Work that ends when it is told to; `running` has the names of what runs. */
class Works {
  readonly running: string[] = []
  private readonly turns = new Turns()
  private readonly ends = new Map<string, () => void>()

  async begin(name: string, turn: Turn): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.ends.set(name, resolve)
    await this.turns.take(turn, async () => {
      this.running.push(name)
      await promise
      this.running.splice(this.running.indexOf(name), 1)
    })
  }

  async end(name: string): Promise<void> {
    this.ends.get(name)!()
    await new Promise(setImmediate)
  }
}

test('work that shares runs together, other work alone, in the order of asking', async () => {
  const works = new Works()
  const all = [
    works.begin('a', 'shared'),
    works.begin('b', 'shared'),
    works.begin('c', 'alone'),
    works.begin('d', 'shared'),
  ]
  await new Promise(setImmediate)
  expect(works.running).toEqual(['a', 'b'])
  await works.end('a')
  expect(works.running).toEqual(['b'])
  await works.end('b')
  expect(works.running).toEqual(['c'])
  await works.end('c')
  expect(works.running).toEqual(['d'])
  await works.end('d')
  await Promise.all(all)
})

test('work that fails gives its turn on', async () => {
  const turns = new Turns()
  const failed = turns.take('alone', async () => {
    throw new Error('it fails')
  })
  await expect(failed).rejects.toThrow('it fails')
  expect(await turns.take('alone', async () => 1)).toBe(1)
})
