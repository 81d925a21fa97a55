import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { readModelGraph } from '../../../src/inference/onnx/graph.ts'
import { independenceOf } from '../../../src/inference/onnx/independence.ts'
import { ALONE_KINDS } from './alone-kinds.ts'
import { BATCHED_KINDS } from './batched-kinds.ts'

const page = readFileSync('docs/guide/model-table.md', 'utf8')

/** Rows of the table behind a heading: `| kind | text |`. */
function rowsBehind(heading: string): readonly (readonly string[])[] {
  const [part = ''] = page.slice(page.indexOf(`## ${heading}\n`)).split(/\n## /)
  const lines = part.split('\n').filter((line) => line.startsWith('| '))
  return lines.slice(1).map((line) => line.slice(2, -2).split(' | '))
}

function shownBy(bytes: Uint8Array) {
  const source = {
    length: bytes.length,
    read: (at: number, n: number) => bytes.subarray(at, at + n),
  }
  return independenceOf(readModelGraph(source))
}

describe('the table of kinds of graphs in the guide', () => {
  it('says of each kind that shares runs along which axes', () => {
    const shown = Object.entries(BATCHED_KINDS).map(([kind, { make }]) => {
      const found = shownBy(make(seededRandom(1)).bytes)
      if (found.kind !== 'shown') throw new Error(`${kind}: ${found.why}`)
      const axes = Object.entries(found.inputs).filter(([, axis]) => axis !== null)
      return [kind, axes.map(([name, axis]) => `axis ${axis} of ${name}`).join(', ')]
    })
    expect(rowsBehind('Graphs whose requests share runs')).toEqual(shown)
  })

  it('says of each kind that runs alone why', () => {
    const reasons = Object.entries(ALONE_KINDS).map(([kind, { make }]) => {
      const found = shownBy(make(seededRandom(1)).bytes)
      if (found.kind === 'shown') throw new Error(`${kind} shares runs`)
      return [kind, found.why]
    })
    expect(rowsBehind('Graphs whose requests run alone')).toEqual(reasons)
  })
})
