import { describe, expect, it } from 'vitest'
import { ByteBudget } from '../../../src/http/access/byte-budget.ts'

describe('a budget of bytes', () => {
  it('has a limit for all clients, and one for each', () => {
    const budget = new ByteBudget({ most: 100, mostPerClient: 60 })
    expect(budget.tryTake('a', 60)).toBe(true)
    expect(budget.tryTake('a', 1)).toBe(false)
    expect(budget.tryTake('b', 41)).toBe(false)
    expect(budget.tryTake('b', 40)).toBe(true)
    expect(budget.taken).toBe(100)
    budget.give('a', 60)
    expect(budget.tryTake('a', 10)).toBe(true)
    expect(budget.taken).toBe(50)
  })

  it('lets those that find no room wait in their order, and no client wait for another that has its share', () => {
    const budget = new ByteBudget({ most: 100, mostPerClient: 60 })
    const went: string[] = []
    const take = (client: string, bytes: number) =>
      budget.take(client, bytes, () => went.push(`${client}${bytes}`))
    take('a', 60)
    take('a', 20)
    take('b', 30)
    const stop = take('b', 25)
    take('c', 15)
    expect(went).toEqual(['a60', 'b30'])
    stop!()
    budget.give('a', 30)
    expect(went).toEqual(['a60', 'b30', 'a20', 'c15'])
    expect(budget.taken).toBe(95)
  })

  it('lets only some wait: 32 of a client, 256 of all', () => {
    const budget = new ByteBudget({ most: 10, mostPerClient: 10 })
    budget.take('a', 10, () => {})
    const wait = (client: string) => budget.take(client, 1, () => {})
    for (let i = 0; i < 32; i++) expect(wait('a')).toBeTypeOf('function')
    expect(wait('a')).toBeUndefined()
    for (let i = 0; i < 224; i++) expect(wait(`b${i}`)).toBeTypeOf('function')
    expect(wait('c')).toBeUndefined()
  })
})
