import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { unsupportedNode } from '../../../src/core/lifetime/supported-node.ts'

describe('the Node that runs Weir', () => {
  it.each(['20.19.5', '22.17.1', '18.0.0'])('is not %s', (version) => {
    expect(unsupportedNode(version)).toBe(
      `Weir needs Node 22.18 or newer, and this is Node ${version}`,
    )
  })

  it.each(['22.18.0', '22.23.3', '23.0.0', '24.21.0', '26.10.0'])('is %s', (version) => {
    expect(unsupportedNode(version)).toBeUndefined()
  })

  it('is the one that package.json names', () => {
    const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      readonly engines: { readonly node: string }
    }
    const [oldest] = /\d+\.\d+/.exec(engines.node)!
    expect(unsupportedNode(`${oldest}.0`)).toBeUndefined()
    expect(
      unsupportedNode(`${oldest.replace(/\d+$/, (minor) => String(Number(minor) - 1))}.9`),
    ).toBeDefined()
  })
})
