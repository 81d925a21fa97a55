import { describe, expect, it } from 'vitest'
import { ShapeTree } from '../../../src/core/shapes/tree.ts'

describe('ShapeTree', () => {
  it('gives objects with the same names in the same order one node, others another one', () => {
    const tree = new ShapeTree<string>()
    const node = tree.find({ a: 1, b: 2 })
    expect(node).toBeDefined()
    expect(tree.find({ b: 2, a: 1 })).not.toBe(node)
    expect(tree.find({ a: 1 })).not.toBe(node)
    expect(tree.find({ a: 3, b: 'x' })).toBe(node)
  })

  it.each(['{"__proto__": 1}', '{"a": 1, "__proto__": 2}', '{"__proto__": 1, "a": 2}'])(
    'gives %s no node, whatever came before',
    (text) => {
      const tree = new ShapeTree<string>()
      expect(tree.find(JSON.parse(text) as object)).toBeUndefined()
      tree.find({ a: 1, b: 2 })
      expect(tree.find(JSON.parse(text) as object)).toBeUndefined()
    },
  )

  it('gives an object with an empty name a node of its own', () => {
    const tree = new ShapeTree<string>()
    const node = tree.find({ '': 1 })
    expect(node?.depth).toBe(1)
    expect(tree.find({})).not.toBe(node)
  })
})
