import { describe, expect, it } from 'vitest'
import { layoutOf, orderedLayers } from '../../../dashboard/src/graph/layout.ts'

const node = (id: string, ...inputs: string[]) => ({ id, inputs })
const SIZES = { width: 100, height: 40, layerGap: 20, gap: 10 }

describe('the layout of a job graph', () => {
  it('puts a node one layer after the last of its inputs', () => {
    const nodes = [node('a'), node('b', 'a'), node('c', 'a', 'b'), node('d')]
    expect(orderedLayers(nodes)).toEqual([['a', 'd'], ['b'], ['c']])
  })

  it('orders a layer so that edges cross little', () => {
    const nodes = [node('a'), node('b'), node('of b', 'b'), node('of a', 'a')]
    expect(orderedLayers(nodes)[1]).toEqual(['of a', 'of b'])
  })

  it('leaves out inputs that are missing or close a circle', () => {
    expect(
      orderedLayers([node('a', 'gone', 'b'), node('b', 'a')])
        .flat()
        .sort(),
    ).toEqual(['a', 'b'])
  })

  it('centres each layer from left to right', () => {
    const nodes = [node('a'), node('b'), node('c', 'a', 'b')]
    const { places, width, height } = layoutOf(nodes, { ...SIZES, direction: 'right' })
    expect([width, height]).toEqual([220, 90])
    expect([...places]).toEqual([
      ['a', { x: 0, y: 0 }],
      ['b', { x: 0, y: 50 }],
      ['c', { x: 120, y: 25 }],
    ])
  })

  it('puts all boxes below each other in a column, with a margin for the edges', () => {
    const nodes = [node('c', 'a'), node('a'), node('b')]
    const { places, width, height } = layoutOf(nodes, { ...SIZES, direction: 'column' })
    expect([width, height]).toEqual([120, 140])
    expect([...places.values()].map(({ x, y }) => [x, y])).toEqual([
      [20, 0],
      [20, 50],
      [20, 100],
    ])
    expect([...places.keys()].at(-1)).toBe('c')
  })

  it('draws nothing for no nodes', () => {
    expect(layoutOf([], { ...SIZES, direction: 'right' })).toMatchObject({ width: 0 })
  })
})
