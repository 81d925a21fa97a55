import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { GraphFolder, removeLostGraphs } from '../../../src/inference/engine/graph-folder.ts'

let root: string
/** A process that has ended. */
const ended = spawnSync(process.execPath, ['--version']).pid

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'weir-graph-test-'))
  vi.stubEnv('TMPDIR', root)
})

afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(root, { recursive: true, force: true })
})

/** Name of the folder of an engine of this process. */
function nameOf(graphs: GraphFolder): string {
  return basename(dirname(graphs.file()))
}

/** The name with another process in it. */
const owned = (name: string, pid: number): string => name.replace(`-${process.pid}-`, `-${pid}-`)

function write(name: string): void {
  mkdirSync(join(root, name))
  writeFileSync(join(root, name, '0.onnx'), 'a graph')
}

describe('folders of optimised graphs', () => {
  it('are deleted when the process that made them was killed; those of a running one stay', () => {
    using graphs = new GraphFolder()
    const mine = nameOf(graphs)
    write(owned(mine, ended))
    removeLostGraphs()
    expect(readdirSync(root)).toEqual([mine])
  })

  it('are deleted when another process has the id of theirs', () => {
    using graphs = new GraphFolder()
    const mine = nameOf(graphs)
    const start = /-([0-9]+)-[^-]*$/.exec(mine)?.[1]
    // Only Linux has the start of a process.
    if (start === undefined) return
    write(mine.replace(`-${start}-`, `-${Number(start) - 1}-`))
    removeLostGraphs()
    expect(readdirSync(root)).toEqual([mine])
  })

  it('stay when they are of another container, and when their name says no process', () => {
    using graphs = new GraphFolder()
    const mine = nameOf(graphs)
    const lost = owned(mine, ended)
    const kept = [lost.replace(/-graphs-[0-9a-f]{8}-/, '-graphs-00000000-'), 'weir-graphs-old']
    for (const name of kept) write(name)
    removeLostGraphs()
    expect(readdirSync(root).sort()).toEqual([...kept, mine].sort())
  })

  it('are never followed as a link', () => {
    using graphs = new GraphFolder()
    write('precious')
    symlinkSync(join(root, 'precious'), join(root, owned(nameOf(graphs), ended)))
    removeLostGraphs()
    expect(existsSync(join(root, 'precious', '0.onnx'))).toBe(true)
  })

  it('go with their engine', () => {
    const graphs = new GraphFolder()
    graphs.file()
    expect(readdirSync(root)).toHaveLength(1)
    graphs[Symbol.dispose]()
    expect(readdirSync(root)).toEqual([])
  })
})
