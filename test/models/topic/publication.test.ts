import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { machineProcesses, Publication } from '../../../src/models/topic/publication.ts'
import { needs } from '../../run/needs.ts'

const { machine, goesOn } = machineProcesses

describe('a publication', () => {
  it('of this process goes on until it is disposed of', () => {
    const publication = new Publication()
    expect(publication.name.startsWith(`${machine}/${process.pid}-`)).toBe(true)
    expect(goesOn(publication.name)).toBe(true)
    publication[Symbol.dispose]()
    expect(goesOn(publication.name)).toBe(false)
  })

  it('has a name of its own', () => {
    using first = new Publication()
    using second = new Publication()
    expect(first.name).not.toBe(second.name)
  })

  it('of a process that has ended does not go on', async () => {
    const child = spawn('true')
    const name = `${machine}/${child.pid}-/1`
    await once(child, 'exit')
    expect(goesOn(name)).toBe(false)
  })

  it(
    'of an earlier process with the id of one that runs does not go on',
    needs(process.platform === 'linux', 'only Linux has the start of a process'),
    () => {
      using publication = new Publication()
      const [, start] = /\/[0-9]+-([0-9]+)\//.exec(publication.name)!
      const earlier = publication.name.replace(`-${start}/`, `-${Number(start) - 1}/`)
      expect(goesOn(earlier)).toBe(false)
    },
  )
})
