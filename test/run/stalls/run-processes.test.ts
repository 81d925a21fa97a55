import { expect, it } from 'vitest'
import { ofFiles, type RunProcess } from './run-processes.ts'

const one = (pid: number, parent: number, file?: string): RunProcess => ({
  pid,
  parent,
  file,
  state: 'S',
  cpuMs: 0,
  command: '',
  pipes: [],
})

it('workers, their children and what has lost its parent belong to files; shared services do not', () => {
  const all = [
    one(10, process.pid, 'a.test.ts'),
    one(11, 10),
    one(12, 11),
    one(20, process.pid),
    one(21, 20),
    one(30, 1),
  ]
  expect(ofFiles(all).map(({ pid }) => pid)).toEqual([10, 11, 12, 30])
})
