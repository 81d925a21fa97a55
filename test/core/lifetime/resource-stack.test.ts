import { expect, it } from 'vitest'
import { ResourceStack } from '../../../src/core/lifetime/resource-stack.ts'

it('disposes of its resources once, the last one first', async () => {
  const ended: string[] = []
  const resource = (name: string) => ({
    name,
    [Symbol.asyncDispose]: async () => void ended.push(name),
  })
  {
    await using stack = new ResourceStack()
    expect(stack.use(resource('first')).name).toBe('first')
    stack.defer(() => void ended.push('second'))
    stack.use(resource('third'))
    expect(ended).toEqual([])
  }
  expect(ended).toEqual(['third', 'second', 'first'])
})

it('keeps the resources that were moved to another stack', async () => {
  const ended: string[] = []
  const stack = new ResourceStack()
  stack.defer(() => void ended.push('kept'))
  const moved = stack.move()
  await stack[Symbol.asyncDispose]()
  expect(ended).toEqual([])
  await moved[Symbol.asyncDispose]()
  await moved[Symbol.asyncDispose]()
  expect(ended).toEqual(['kept'])
})

it('disposes of every resource when some fail, and rejects with the failures', async () => {
  const ended: string[] = []
  const stack = new ResourceStack()
  stack.defer(() => void ended.push('last'))
  stack.defer(() => Promise.reject(new Error('one')))
  await expect(stack[Symbol.asyncDispose]()).rejects.toThrow('one')
  expect(ended).toEqual(['last'])
  for (const name of ['one', 'two']) stack.defer(() => Promise.reject(new Error(name)))
  await expect(stack[Symbol.asyncDispose]()).rejects.toMatchObject({
    errors: [new Error('two'), new Error('one')],
  })
})
